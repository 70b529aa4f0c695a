// SPDX-License-Identifier: Apache-2.0
// Making a rack and taking it apart.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "csd/device/lock.h"
#include "csd/device/rack.h"
#include "csd/media/file.h"

enum { WIPE_BYTES = 4096 };

static enum stn_status make_folder(const char *path)
{
    if (mkdir(path, S_IRWXU) != 0) {
        return stn_fail(errno == ENOSPC ? STN_ERR_NO_SPACE : STN_ERR_INVALID,
                        "%s: cannot make the folder: %s", path, strerror(errno));
    }
    return STN_OK;
}

static enum stn_status make_media(const char *folder, const struct flash_profile *profile)
{
    char path[CSD_PATH_BYTES];
    struct media *medium;
    enum stn_status status = csd_path(path, folder, CSD_MEDIA_FILE);
    if (status == STN_OK) {
        status = media_file_create(path, &profile->geometry, &medium);
    }
    if (status != STN_OK) {
        return status;
    }
    status = flash_format(medium, profile);
    media_close(medium);
    return status;
}

static enum stn_status make_keys(const char *folder)
{
    char path[CSD_PATH_BYTES];
    struct flash_keys *keys = NULL;
    enum stn_status status = csd_path(path, folder, CSD_KEYS_FILE);
    if (status == STN_OK) {
        status = flash_keys_open(path, true, &keys);
    }
    flash_keys_close(keys);
    return status;
}

static enum stn_status make_device(const struct csd_rack *rack, int index,
                                   const struct flash_profile *profile)
{
    char folder[CSD_PATH_BYTES];
    enum stn_status status = csd_rack_folder(rack, index, folder);
    if (status == STN_OK) {
        status = make_folder(folder);
    }
    if (status == STN_OK) {
        status = make_media(folder, profile);
    }
    if (status == STN_OK) {
        status = make_keys(folder);
    }
    return status;
}

static enum stn_status write_rack_file(const struct csd_rack *rack)
{
    char path[CSD_PATH_BYTES], text[512];
    struct atomic_file file;
    int length =
        snprintf(text, sizeof(text),
                 "# A rack of software CSDs, made by \"stannis csd create\".\n"
                 "id: %s\nprofile: %s\ncount: %d\nsize: %" PRIu64 "\ntiming: \"%s\"\n",
                 rack->id, rack->profile, rack->count, rack->size, csd_timing_names[rack->timing]);
    enum stn_status status = csd_path(path, rack->path, "rack.yaml");
    if (status == STN_OK) {
        status = atomic_file_open(path, &file);
    }
    if (status != STN_OK) {
        return status;
    }
    status = atomic_file_write(&file, text, (size_t)length);
    if (status != STN_OK) {
        atomic_file_abort(&file);
        return status;
    }
    return atomic_file_commit(&file);
}

static enum stn_status make_id(struct csd_rack *rack)
{
    uint8_t bytes[(CSD_RACK_ID_BYTES - 1) / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return stn_fail(STN_ERR_IO, "the system gives no random numbers: %s", strerror(errno));
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        snprintf(rack->id + 2 * i, 3, "%02x", bytes[i]);
    }
    rack->id[0] = 'r'; // never a number in YAML
    return STN_OK;
}

// ---- Taking apart -------------------------------------------------------------------------------

// Overwritten before it is removed: what the keys have encrypted is gone.
static enum stn_status wipe(const char *path)
{
    static const uint8_t zeros[WIPE_BYTES];
    struct stat about;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? STN_OK : stn_fail(STN_ERR_IO, "%s: %s", path, strerror(errno));
    }
    bool well = fstat(fd, &about) == 0;
    for (off_t at = 0; well && at < about.st_size; at += WIPE_BYTES) {
        size_t bytes = about.st_size - at < WIPE_BYTES ? (size_t)(about.st_size - at) : WIPE_BYTES;
        well = pwrite(fd, zeros, bytes, at) == (ssize_t)bytes;
    }
    well = well && fdatasync(fd) == 0;
    int error = errno;
    close(fd);
    return well ? STN_OK
                : stn_fail(STN_ERR_IO, "%s: cannot overwrite the keys: %s", path, strerror(error));
}

static enum stn_status remove_file(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT) {
        return stn_fail(STN_ERR_IO, "%s: cannot remove it: %s", path, strerror(errno));
    }
    return STN_OK;
}

static enum stn_status remove_folder(const char *path)
{
    if (rmdir(path) != 0 && errno != ENOENT) {
        return stn_fail(STN_ERR_IO, "%s: cannot remove the folder: %s", path,
                        errno == ENOTEMPTY ? "it holds files that are not the rack's"
                                           : strerror(errno));
    }
    return STN_OK;
}

static enum stn_status remove_device(const struct csd_rack *rack, int index)
{
    static const char *const files[] = {CSD_KEYS_FILE, CSD_MEDIA_FILE, CSD_SOCKET_FILE,
                                        CSD_LOG_FILE, CSD_LOCK_FILE};
    char folder[CSD_PATH_BYTES], path[CSD_PATH_BYTES];
    enum stn_status status = csd_rack_folder(rack, index, folder);
    if (status == STN_OK) {
        status = csd_path(path, folder, CSD_KEYS_FILE);
    }
    if (status == STN_OK) {
        status = wipe(path);
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && status == STN_OK; i++) {
        status = csd_path(path, folder, files[i]);
        if (status == STN_OK) {
            status = remove_file(path);
        }
    }
    return status == STN_OK ? remove_folder(folder) : status;
}

static void tell(const struct csd_rack_progress *progress, int index, int count)
{
    if (progress && progress->made) {
        progress->made(progress->context, index, count);
    }
}

static enum stn_status check_off(const struct csd_rack *rack)
{
    char folder[CSD_PATH_BYTES];
    struct stat about;
    for (int i = 0; i < rack->count; i++) {
        pid_t holder = 0;
        enum stn_status status = csd_rack_folder(rack, i, folder);
        if (status == STN_OK && stat(folder, &about) == 0) {
            status = csd_lock_holder(folder, &holder);
        }
        if (status == STN_OK && holder != 0) {
            status = stn_fail(STN_ERR_INVALID, "%s: the device is on; \"stannis csd stop\" first",
                              folder);
        }
        if (status != STN_OK) {
            return status;
        }
    }
    return STN_OK;
}

enum stn_status csd_rack_destroy(const struct csd_rack *rack,
                                 const struct csd_rack_progress *progress)
{
    char path[CSD_PATH_BYTES];
    enum stn_status status = check_off(rack);
    for (int i = 0; i < rack->count && status == STN_OK; i++) {
        status = remove_device(rack, i);
        tell(progress, i, rack->count);
    }
    if (status == STN_OK) {
        status = csd_path(path, rack->path, "rack.yaml");
    }
    if (status == STN_OK) {
        status = remove_file(path);
    }
    return status == STN_OK ? remove_folder(rack->path) : status;
}

enum stn_status csd_rack_create(struct csd_rack *rack, const struct csd_profile *profile,
                                const struct csd_rack_progress *progress)
{
    struct flash_profile fitted = profile->flash;
    snprintf(rack->profile, sizeof(rack->profile), "%s", profile->name);
    enum stn_status status = flash_profile_fit(&fitted, rack->size, profile->name);
    if (status == STN_OK) {
        status = make_id(rack);
    }
    if (status == STN_OK) {
        status = make_folder(rack->path);
    }
    if (status != STN_OK) {
        return status;
    }
    int made = 0;
    for (; made < rack->count && status == STN_OK; made++) {
        status = make_device(rack, made, &fitted);
        tell(progress, made, rack->count);
    }
    if (status == STN_OK) {
        status = write_rack_file(rack);
    }
    if (status != STN_OK) {
        struct csd_rack half = *rack;
        half.count = made;
        enum stn_status removed = csd_rack_destroy(&half, NULL);
        (void)removed; // the first failure counts, and was said
    }
    return status;
}
