// SPDX-License-Identifier: Apache-2.0
// The opaque types of conf.h are libyaml's. For the files of this folder.
#ifndef CONF_YAML_H
#define CONF_YAML_H

#include <yaml.h>

#include "conf/conf.h"

struct conf_document {
    yaml_document_t yaml;
};

// A value is a node of libyaml under another name.
static inline const yaml_node_t *conf_yaml(const struct conf_value *value)
{
    return (const yaml_node_t *)value;
}

static inline const struct conf_value *conf_value_of(const yaml_node_t *node)
{
    return (const struct conf_value *)node;
}

#endif
