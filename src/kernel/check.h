// SPDX-License-Identifier: Apache-2.0
// What every backend may take for granted about a descriptor. Each check reports what is wrong in
// one line.
#ifndef KERNEL_CHECK_H
#define KERNEL_CHECK_H

#include "kernel/kernel.h"

STN_MUST_CHECK enum stn_status kernel_check_conv(const struct kernel_conv *d);
STN_MUST_CHECK enum stn_status kernel_check_batchnorm(const struct kernel_batchnorm *d);
STN_MUST_CHECK enum stn_status kernel_check_activate(const struct kernel_activate *d);
STN_MUST_CHECK enum stn_status kernel_check_pool(const struct kernel_pool *d);
STN_MUST_CHECK enum stn_status kernel_check_global_pool(const struct kernel_global_pool *d);
STN_MUST_CHECK enum stn_status kernel_check_fc(const struct kernel_fc *d);
STN_MUST_CHECK enum stn_status kernel_check_add(const struct kernel_add *d);
STN_MUST_CHECK enum stn_status kernel_check_concat(const struct kernel_concat *d);
STN_MUST_CHECK enum stn_status kernel_check_shuffle(const struct kernel_shuffle *d);
STN_MUST_CHECK enum stn_status kernel_check_slice(const struct kernel_slice *d);
STN_MUST_CHECK enum stn_status kernel_check_dropout(const struct kernel_dropout *d);
STN_MUST_CHECK enum stn_status kernel_check_reorder(const struct kernel_reorder *d);

#endif
