// SPDX-License-Identifier: Apache-2.0
#include "csd/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "csd/device/lock.h"
#include "csd/device/store.h"
#include "csd/media/file.h"
#include "csd/server/server.h"

enum { BACKLOG = 64 };

struct csd_device {
    char socket_path[CSD_PATH_BYTES]; // empty: none
    int lock, listener;
    struct media *medium;
    struct flash_keys *keys;
    struct flash *flash;
    struct flash_profile profile;
    struct nvme_subsystem subsystem;
    bool has_subsystem;
    struct store *store;
    struct csd_server *server;
};

static enum stn_status add_namespaces(struct csd_device *d)
{
    struct flash_namespace all[FLASH_NAMESPACES_MAX];
    int count = flash_namespaces(d->flash, all);
    enum stn_status status = STN_OK;
    for (int i = 0; i < count && status == STN_OK; i++) {
        struct nvme_tag tag;
        memcpy(&tag, all[i].tag, sizeof(tag));
        status = nvme_subsystem_add(&d->subsystem, all[i].id, all[i].units, &tag);
    }
    return status;
}

static enum stn_status start_front(struct csd_device *d, const struct csd_device_parts *parts)
{
    const struct store_about about = {.profile = parts->profile,
                                      .media = parts->media,
                                      .flash_profile = &d->profile,
                                      .timing = parts->options.timing};
    snprintf(d->subsystem.serial, sizeof(d->subsystem.serial), "%s", parts->serial);
    snprintf(d->subsystem.model, sizeof(d->subsystem.model), "Stannis CSD %s", parts->profile);
    d->subsystem.blocks_total = flash_units_total(d->flash);
    enum stn_status status = nvme_subsystem_init(&d->subsystem);
    d->has_subsystem = status == STN_OK;
    if (status == STN_OK) {
        status = add_namespaces(d);
    }
    if (status == STN_OK) {
        status = store_start(d->flash, &about, &d->store);
    }
    if (status == STN_OK) {
        d->subsystem.backend = store_backend(d->store);
        status = csd_server_start(&d->subsystem, parts->listener, &d->server);
    }
    return status;
}

enum stn_status csd_device_start(const struct csd_device_parts *parts, struct csd_device **out)
{
    struct csd_device *d = calloc(1, sizeof(*d));
    if (!d) {
        flash_keys_close(parts->keys);
        media_close(parts->medium);
        return stn_fail(STN_ERR_NO_MEMORY, "no memory for a device");
    }
    d->lock = d->listener = -1;
    d->medium = parts->medium;
    d->keys = parts->keys;
    enum stn_status status = flash_probe(d->medium, &d->profile);
    if (status == STN_OK) {
        status = flash_open(d->medium, d->keys, &parts->options, &d->flash);
    }
    if (status == STN_OK) {
        status = start_front(d, parts);
    }
    if (status != STN_OK) {
        enum stn_status ignored = csd_device_close(d);
        (void)ignored; // the first failure counts
        return status;
    }
    *out = d;
    return STN_OK;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

enum stn_status csd_device_close(struct csd_device *device)
{
    if (!device) {
        return STN_OK;
    }
    enum stn_status status = STN_OK;
    csd_server_stop(device->server);
    store_stop(device->store);
    if (device->has_subsystem) {
        nvme_subsystem_fini(&device->subsystem);
    }
    enum flash_result result = flash_close(device->flash);
    if (result != FLASH_OK && result != FLASH_READ_ONLY) {
        status = stn_fail(STN_ERR_IO, "%s: power off: %s", device->medium->name,
                          flash_result_text(result));
    }
    flash_keys_close(device->keys);
    media_close(device->medium);
    if (device->socket_path[0]) {
        unlink(device->socket_path);
    }
    close_fd(device->listener);
    close_fd(device->lock);
    free(device);
    return status;
}

enum stn_status csd_device_connect(struct csd_device *device, uint16_t controller, int *fd)
{
    return csd_server_connect(device->server, controller, fd);
}

// ---- Of a rack ----------------------------------------------------------------------------------

static int bind_in(const char *folder, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int directory = csd_open_folder(folder);
    if (directory < 0) {
        return -1;
    }
    unlink(path); // of one who lost its power; the lock is ours
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
             CSD_SOCKET_FILE);
    bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                 chmod(path, S_IRUSR | S_IWUSR) == 0 && listen(fd, BACKLOG) == 0;
    int error = errno;
    close(directory);
    if (!bound) {
        close_fd(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static enum stn_status open_files(const char *folder, struct csd_device_parts *parts)
{
    char path[CSD_PATH_BYTES];
    enum stn_status status = csd_path(path, folder, CSD_MEDIA_FILE);
    if (status == STN_OK) {
        status = media_file_open(path, &parts->medium);
    }
    if (status == STN_OK) {
        status = csd_path(path, folder, CSD_KEYS_FILE);
    }
    if (status == STN_OK) {
        status = flash_keys_open(path, false, &parts->keys);
    }
    if (status != STN_OK) {
        media_close(parts->medium);
    }
    return status;
}

enum stn_status csd_device_open(const struct csd_rack *rack, int index, struct csd_device **out)
{
    char folder[CSD_PATH_BYTES], socket_path[CSD_PATH_BYTES], serial[CSD_SERIAL_BYTES];
    int lock = -1, listener = -1;
    struct csd_device_parts parts = {
        .options = {.timing = rack->timing}, .profile = rack->profile, .media = "file"};
    enum stn_status status = csd_rack_folder(rack, index, folder);
    if (status == STN_OK) {
        status = csd_path(socket_path, folder, CSD_SOCKET_FILE);
    }
    if (status == STN_OK) {
        status = csd_lock_take(folder, &lock);
    }
    if (status != STN_OK) {
        return status;
    }
    listener = bind_in(folder, socket_path);
    if (listener < 0) {
        status =
            stn_fail(STN_ERR_IO, "%s: cannot listen for clients: %s", socket_path, strerror(errno));
    } else {
        status = open_files(folder, &parts);
    }
    if (status == STN_OK) {
        snprintf(serial, sizeof(serial), "%s-%d", rack->id, index);
        parts.serial = serial;
        parts.listener = listener;
        status = csd_device_start(&parts, out);
    }
    if (status != STN_OK) {
        if (listener >= 0) {
            unlink(socket_path);
        }
        close_fd(listener);
        close_fd(lock);
        return status;
    }
    (*out)->lock = lock;
    (*out)->listener = listener;
    memcpy((*out)->socket_path, socket_path, sizeof(socket_path));
    return STN_OK;
}
