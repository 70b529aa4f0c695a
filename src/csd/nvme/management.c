// SPDX-License-Identifier: Apache-2.0
// Namespace management and attachment. What lasts is kept by the back end, in the namespace's tag;
// our table runs ahead of it and is put back when the back end fails.
#include <ctype.h>
#include <string.h>
#include <sys/random.h>

#include "csd/nvme/session_state.h"

enum { SELECT_CREATE = 0, SELECT_DELETE = 1, SELECT_ATTACH = 0, SELECT_DETACH = 1 };

static struct nvme_namespace *namespace_of(struct nvme_request *r)
{
    return &r->session->config.subsystem->namespaces[r->argument & 0xff];
}

static enum nvme_status created(struct nvme_request *r, enum nvme_status status)
{
    struct nvme_subsystem *subsystem = r->session->config.subsystem;
    pthread_mutex_lock(&subsystem->lock);
    struct nvme_namespace *ns = namespace_of(r);
    ns->store_id = r->store_id;
    ns->state = status == NVME_SUCCESS ? NVME_NAMESPACE_READY : NVME_NAMESPACE_NONE;
    pthread_mutex_unlock(&subsystem->lock);
    r->result = r->tag.nsid;
    return status;
}

static enum nvme_status deleted(struct nvme_request *r, enum nvme_status status)
{
    struct nvme_subsystem *subsystem = r->session->config.subsystem;
    pthread_mutex_lock(&subsystem->lock);
    namespace_of(r)->state = status == NVME_SUCCESS ? NVME_NAMESPACE_NONE : NVME_NAMESPACE_READY;
    pthread_mutex_unlock(&subsystem->lock);
    return status;
}

// The bits that a failed change of attachments has to bring back are in `argument`.
static enum nvme_status attached(struct nvme_request *r, enum nvme_status status)
{
    struct nvme_subsystem *subsystem = r->session->config.subsystem;
    pthread_mutex_lock(&subsystem->lock);
    if (status != NVME_SUCCESS) {
        namespace_of(r)->tag.attached = (uint8_t)(r->argument >> 8);
    }
    pthread_mutex_unlock(&subsystem->lock);
    return status;
}

static bool good_name(const char *name, size_t size)
{
    size_t length = strnlen(name, size);
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i])) {
            return false;
        }
    }
    return length < size;
}

static int free_slot(const struct nvme_subsystem *subsystem)
{
    for (int i = 0; i < NVME_NAMESPACES_MAX; i++) {
        if (subsystem->namespaces[i].state == NVME_NAMESPACE_NONE) {
            return i;
        }
    }
    return -1;
}

static enum nvme_status check_wish(const struct nvme_subsystem *subsystem,
                                   const struct nvme_identify_namespace *wish)
{
    bool shape = wish->nsze > 0 && wish->ncap == wish->nsze && wish->flbas == 0 && wish->dps == 0 &&
                 wish->nmic <= 1 && good_name(wish->name, sizeof(((struct nvme_tag *)0)->name));
    if (!shape) {
        return NVME_INVALID_FIELD;
    }
    if (wish->nsze > nvme_blocks_free(subsystem)) {
        return NVME_NAMESPACE_CAPACITY;
    }
    return free_slot(subsystem) < 0 ? NVME_NO_NAMESPACE_ID : NVME_SUCCESS;
}

static enum nvme_status create(struct nvme_session *s, const struct nvme_sqe *sqe,
                               struct nvme_request *r)
{
    struct nvme_subsystem *subsystem = s->config.subsystem;
    struct nvme_identify_namespace wish;
    enum nvme_status status = session_take(s, sqe, sizeof(wish), &wish);
    if (status == NVME_SUCCESS) {
        status = sqe->nsid == 0 ? check_wish(subsystem, &wish) : NVME_INVALID_FIELD;
    }
    if (status) {
        return status;
    }
    int slot = free_slot(subsystem);
    struct nvme_tag tag = {.version = NVME_TAG_VERSION,
                           .nsid = (uint8_t)(slot + 1),
                           .attached = wish.nmic ? NVME_SHARED : 0};
    memcpy(tag.name, wish.name, strlen(wish.name));
    if (getrandom(tag.nguid, sizeof(tag.nguid), GRND_NONBLOCK) != (ssize_t)sizeof(tag.nguid)) {
        return NVME_INTERNAL;
    }
    subsystem->namespaces[slot] = (struct nvme_namespace){.state = NVME_NAMESPACE_CHANGING,
                                                          .blocks = wish.nsze,
                                                          .tag = tag,
                                                          .reservations = {.holder = -1}};
    r->op = NVME_OP_CREATE;
    r->count = wish.nsze;
    r->tag = tag;
    r->argument = (uint64_t)slot;
    r->done = created;
    r->submit = true;
    return NVME_SUCCESS;
}

// An allocated namespace, whatever it is attached to.
static enum nvme_status find_allocated(struct nvme_subsystem *subsystem, uint32_t nsid,
                                       struct nvme_namespace **out)
{
    if (!nvme_namespace_valid(nsid)) {
        return NVME_INVALID_NAMESPACE;
    }
    *out = &subsystem->namespaces[nsid - 1];
    return (*out)->state == NVME_NAMESPACE_READY ? NVME_SUCCESS : NVME_INVALID_FIELD;
}

static enum nvme_status delete (struct nvme_session *s, const struct nvme_sqe *sqe,
                                struct nvme_request *r) {
    struct nvme_namespace *ns;
    enum nvme_status status = find_allocated(s->config.subsystem, sqe->nsid, &ns);
    if (status == NVME_SUCCESS && ns->tag.write_protect){status = NVME_WRITE_PROTECTED;}
if (status)
{
    return status;
}
ns->state = NVME_NAMESPACE_CHANGING;
r->op = NVME_OP_DELETE;
r->store_id = ns->store_id;
r->argument = sqe->nsid - 1;
r->done = deleted;
r->submit = true;
return NVME_SUCCESS;
}

enum nvme_status nvme_namespace_management(struct nvme_session *session, const struct nvme_sqe *sqe,
                                           struct nvme_request *request)
{
    switch (sqe->cdw10 & 0xf) {
    case SELECT_CREATE: return create(session, sqe, request);
    case SELECT_DELETE: return delete (session, sqe, request);
    default: return NVME_INVALID_FIELD;
    }
}

// The bits of a controller list: rising ids of controllers that exist.
static enum nvme_status read_controllers(const struct nvme_controller_list *list, uint8_t *bits)
{
    *bits = 0;
    if (list->count < 1 || list->count > NVME_CONTROLLERS) {
        return NVME_CONTROLLER_LIST;
    }
    for (int i = 0; i < list->count; i++) {
        if (list->ids[i] < 1 || list->ids[i] > NVME_CONTROLLERS ||
            (i > 0 && list->ids[i] <= list->ids[i - 1])) {
            return NVME_CONTROLLER_LIST;
        }
        *bits |= nvme_attached_bit(list->ids[i]);
    }
    return NVME_SUCCESS;
}

static enum nvme_status check_attachment(const struct nvme_namespace *ns, uint8_t bits, bool attach)
{
    if (!attach) {
        return (ns->tag.attached & bits) == bits ? NVME_SUCCESS : NVME_NOT_ATTACHED;
    }
    if (!(ns->tag.attached & NVME_SHARED) && (bits & NVME_ATTACHED_HOST)) {
        return NVME_NAMESPACE_PRIVATE;
    }
    return ns->tag.attached & bits ? NVME_ALREADY_ATTACHED : NVME_SUCCESS;
}

enum nvme_status nvme_namespace_attachment(struct nvme_session *session, const struct nvme_sqe *sqe,
                                           struct nvme_request *request)
{
    struct nvme_controller_list list;
    struct nvme_namespace *ns;
    uint8_t bits;
    uint32_t select = sqe->cdw10 & 0xf;
    if (select != SELECT_ATTACH && select != SELECT_DETACH) {
        return NVME_INVALID_FIELD;
    }
    enum nvme_status status = find_allocated(session->config.subsystem, sqe->nsid, &ns);
    if (status == NVME_SUCCESS) {
        status = session_take(session, sqe, sizeof(list), &list);
    }
    if (status == NVME_SUCCESS) {
        status = read_controllers(&list, &bits);
    }
    if (status == NVME_SUCCESS) {
        status = check_attachment(ns, bits, select == SELECT_ATTACH);
    }
    if (status) {
        return status;
    }
    request->argument = (sqe->nsid - 1) | (uint64_t)ns->tag.attached << 8;
    ns->tag.attached =
        (uint8_t)(select == SELECT_ATTACH ? ns->tag.attached | bits : ns->tag.attached & ~bits);
    session_keep_tag(request, ns, attached);
    return NVME_SUCCESS;
}
