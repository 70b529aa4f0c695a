// SPDX-License-Identifier: Apache-2.0
#include "crew/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/setting_mark.h"

struct crew_audit {
    FILE *file;
    char *path;
};

static enum stn_status fail_io(const char *path)
{
    return stn_fail(STN_ERR_IO, BASE_SETTING "audit: cannot write %s: %s", path, strerror(errno));
}

static enum stn_status open_file(struct crew_audit *audit, const char *folder, bool resumed)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return stn_fail(STN_ERR_IO, BASE_SETTING "audit: cannot make %s: %s", folder,
                        strerror(errno));
    }
    audit->file = fopen(audit->path, resumed ? "ae" : "we");
    if (!audit->file) {
        return fail_io(audit->path);
    }
    if (fseek(audit->file, 0, SEEK_END) == 0 && ftell(audit->file) == 0) {
        fputs("epoch,step,set,sample\n", audit->file);
    }
    return STN_OK;
}

enum stn_status crew_audit_open(const char *folder, const char *node, bool resumed,
                                struct crew_audit **out)
{
    struct crew_audit *audit = calloc(1, sizeof(*audit));
    if (!audit || asprintf(&audit->path, "%s/%s.csv", folder, node) < 0) {
        free(audit);
        return stn_fail(STN_ERR_NO_MEMORY, BASE_SETTING "audit %s: out of memory", folder);
    }
    enum stn_status status = open_file(audit, folder, resumed);
    if (status) {
        crew_audit_close(audit);
        return status;
    }
    *out = audit;
    return STN_OK;
}

void crew_audit_close(struct crew_audit *audit)
{
    if (!audit) {
        return;
    }
    if (audit->file) {
        fclose(audit->file); // all of it was flushed
    }
    free(audit->path);
    free(audit);
}

void crew_audit_add(struct crew_audit *audit, int epoch, int64_t step,
                    const struct data_batch *batch)
{
    static const char *const sets[DATA_SOURCES] = {
        [DATA_PUBLIC] = "public", [DATA_PRIVATE] = "private"};
    for (int i = 0; i < batch->count; i++) {
        const struct data_sample_id *id = &batch->samples[i];
        fprintf(audit->file, "%d,%" PRId64 ",%s,%" PRIu64 "\n", epoch, step, sets[id->source],
                id->sample);
    }
}

enum stn_status crew_audit_flush(struct crew_audit *audit)
{
    return fflush(audit->file) == 0 && !ferror(audit->file) ? STN_OK : fail_io(audit->path);
}
