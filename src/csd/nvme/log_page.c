// SPDX-License-Identifier: Apache-2.0
// Get Log Page. SMART and the vendor's page are the back end's health put into two forms.
#include <stdlib.h>
#include <string.h>

#include "csd/nvme/session_state.h"

enum {
    ROOM_TEMPERATURE = 298, // kelvin; nothing measures one
    SPARE_THRESHOLD = 10,   // percent
    WARN_SPARE = 1,
    WARN_READ_ONLY = 8,
    PAGE_MAX = 4096,
};

// Of a page with `size` bytes: the part that the command asks for, at the place that was resolved.
static void give_part(const struct nvme_request *r, const void *page, uint32_t size)
{
    static const uint8_t zeros[NVME_PAGE_BYTES];
    uint64_t from = r->argument;
    uint32_t there = from < size ? (uint32_t)(size - from) : 0;
    uint32_t given = r->data.bytes < there ? r->data.bytes : there;
    nvme_data_scatter(r->memory, &r->data, 0, given, (const uint8_t *)page + (given ? from : 0));
    for (uint32_t at = given; at < r->data.bytes; at += NVME_PAGE_BYTES) {
        uint32_t left = r->data.bytes - at;
        nvme_data_scatter(r->memory, &r->data, at, left < NVME_PAGE_BYTES ? left : NVME_PAGE_BYTES,
                          zeros);
    }
}

static uint64_t data_units(uint64_t units)
{
    return (units * 8 + 999) / 1000;
}

static void describe_health(const struct nvme_subsystem *subsystem, int controller,
                            const struct nvme_health *h, struct nvme_smart_log *out)
{
    uint32_t good = h->blocks - h->blocks_bad_factory;
    uint32_t spare = good ? (uint32_t)(100 - (uint64_t)100 * h->blocks_bad_grown / good) : 0;
    *out = (struct nvme_smart_log){.spare = (uint8_t)spare, .spare_threshold = SPARE_THRESHOLD};
    out->critical_warning =
        (uint8_t)((spare < SPARE_THRESHOLD ? WARN_SPARE : 0) | (h->read_only ? WARN_READ_ONLY : 0));
    out->temperature[0] = ROOM_TEMPERATURE & 0xff;
    out->temperature[1] = ROOM_TEMPERATURE >> 8;
    out->percentage_used = (uint8_t)(h->percentage_used < 255 ? h->percentage_used : 255);
    out->units_read[0] = data_units(h->units_read);
    out->units_written[0] = data_units(h->units_written);
    out->reads[0] = subsystem->reads[controller - 1];
    out->writes[0] = subsystem->writes[controller - 1];
    out->power_cycles[0] = h->power_ons;
    out->unsafe_shutdowns[0] = h->power_cuts;
    out->media_errors[0] = h->unrecovered_units;
    out->error_entries[0] = subsystem->errors[controller - 1].count;
}

static enum nvme_status give_health(struct nvme_request *r, enum nvme_status status)
{
    struct nvme_health *health = r->health;
    r->health = NULL;
    if (status == NVME_SUCCESS && r->page == NVME_LOG_VENDOR) {
        give_part(r, health, sizeof(*health));
    } else if (status == NVME_SUCCESS) {
        struct nvme_subsystem *subsystem = r->session->config.subsystem;
        struct nvme_smart_log smart;
        pthread_mutex_lock(&subsystem->lock);
        describe_health(subsystem, r->controller, health, &smart);
        pthread_mutex_unlock(&subsystem->lock);
        give_part(r, &smart, sizeof(smart));
    }
    free(health);
    return status;
}

// The newest entry first.
static void give_errors(struct nvme_session *s, struct nvme_request *r)
{
    const struct nvme_error_log *log = &s->config.subsystem->errors[s->config.controller - 1];
    struct nvme_error_entry entries[NVME_ERRORS_KEPT];
    memset(entries, 0, sizeof(entries));
    for (uint64_t i = 0; i < NVME_ERRORS_KEPT && i < log->count; i++) {
        entries[i] = log->entries[(log->count - 1 - i) % NVME_ERRORS_KEPT];
    }
    give_part(r, entries, sizeof(entries));
}

enum nvme_status nvme_get_log(struct nvme_session *session, const struct nvme_sqe *sqe,
                              struct nvme_request *request)
{
    uint8_t page = (uint8_t)(sqe->cdw10 & 0xff);
    uint64_t words = ((uint64_t)(sqe->cdw11 & 0xffff) << 16 | sqe->cdw10 >> 16) + 1;
    uint64_t from = (uint64_t)sqe->cdw13 << 32 | sqe->cdw12;
    if (page != NVME_LOG_ERROR && page != NVME_LOG_SMART && page != NVME_LOG_VENDOR) {
        return NVME_LOG_PAGE;
    }
    uint32_t size = page == NVME_LOG_SMART ? sizeof(struct nvme_smart_log) : PAGE_MAX;
    if (from % 4 != 0 || from > size || words * 4 > NVME_TRANSFER_PAGES * NVME_PAGE_BYTES) {
        return NVME_INVALID_FIELD;
    }
    enum nvme_status status = nvme_prp_resolve(request->memory, sqe->prp1, sqe->prp2,
                                               (uint32_t)(words * 4), &request->data);
    if (status) {
        return status;
    }
    request->argument = from;
    if (page == NVME_LOG_ERROR) {
        give_errors(session, request);
        return NVME_SUCCESS;
    }
    request->health = calloc(1, sizeof(*request->health));
    if (!request->health) {
        return NVME_INTERNAL;
    }
    request->page = page;
    request->op = NVME_OP_HEALTH;
    request->done = give_health;
    request->submit = true;
    return NVME_SUCCESS;
}
