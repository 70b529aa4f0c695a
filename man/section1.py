#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""section1.py PROGRAM VERSION DATE FOLDER: stannis.1 and a page for each verb, from the program's own table of settings."""
import json
import pathlib
import re
import subprocess
import sys

import roff

STATUS = """0 done; 1 failed; 2 a mistake in the command or its input; 130 interrupted (a training is saved first)."""


def quoted(text):
    """A sentence of help: `name` in backquotes is another option."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(roff.bold("--" + part) if i % 2 else roff.escape(part) for i, part in enumerate(parts))


def sentence(text):
    """Words begin with a capital; what is to be typed stays as it is."""
    first = text[:1].upper() if re.match(r"[a-z]+[ ,;]", text) else text[:1]
    return first + text[1:] + ("" if text.endswith(".") else ".")


def number(value):
    return f"{value:.15g}"


def limits(row):
    low, high = row["min"], row["max"]
    if row["kind"] == "flag" or low is None:
        return ""
    if high is None:
        return f" At least {number(low)}."
    return f" From {number(low)} to {'below ' if row['below_max'] else ''}{number(high)}."


def default(row):
    text = row["default"]
    if text is None or text == "" or (row["kind"] == "flag" and text == "off") or "default" in row["help"]:
        return ""
    return f" Default: {text}."


def flag(row):
    if row["kind"] == "flag":
        negative = row["default"] == "on"
        return roff.bold(("--no-" if negative else "--") + row["name"])
    value = "|".join(row["choices"]) if row["choices"] else row["value"] or "X"
    return roff.bold("--" + row["name"]) + " " + roff.italic(value)


def option(row):
    return f".TP\n{flag(row)}\n{quoted(sentence(row['help']))}{roff.escape(limits(row) + default(row))}\n"


def options(rows):
    out, group = roff.heading("options"), None
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            out += f'.SS "{quoted(group)}"\n'
        out += option(row)
    out += ".SS \"Help\"\n.TP\n" + roff.bold("--help") + "\nThe options that most people need; with "
    return out + roff.bold("--help=all") + " all of them.\n"


def see_also(names):
    return roff.heading("see also") + roff.links(names)


def page_name(verb):
    return "stannis-" + verb["verb"].replace(" ", "-")


def verb_page(verb, verbs, version, date):
    name = page_name(verb)
    synopsis = roff.bold("stannis " + verb["verb"]) + " [" + roff.italic("OPTION") + "]..."
    if verb["operands"]:
        synopsis += " " + roff.italic(verb["operands"])
    page = roff.title(name, 1, version, date, "Stannis")
    page += roff.heading("name") + f"{roff.escape(name)} \\- {roff.escape(summary(verb))}\n"
    page += roff.heading("synopsis") + synopsis + "\n"
    page += roff.heading("description") + roff.paragraphs(verb["summary"] + "\n\n" + (verb["about"] or ""))
    page += options(verb["options"])
    page += roff.heading("exit status") + roff.escape(STATUS) + "\n"
    if verb["examples"]:
        page += roff.heading("examples") + roff.paragraphs(verb["examples"])
    others = [("stannis", 1)] + [(page_name(other), 1) for other in verbs if other is not verb]
    return page + see_also(others)


def summary(verb):
    text = verb["summary"].rstrip(".")
    return text[:1].lower() + text[1:]


def main_page(verbs, version, date):
    page = roff.title("stannis", 1, version, date, "Stannis")
    page += roff.heading("name") + "stannis \\- trains image classifiers on machines that are not alike\n"
    page += roff.heading("synopsis") + roff.bold("stannis") + " " + roff.italic("VERB") + " ["
    page += roff.italic("OPTION") + "]...\n.br\n" + roff.bold("stannis help") + " [" + roff.italic("VERB") + "]\n"
    page += roff.heading("description") + roff.paragraphs(
        "Stannis trains convolutional networks on the processors of one or several machines. On several nodes each gets "
        "as much of every step as it can compute while the others do, and work moves when a node slows down.\n\n"
        "Each verb has a page of its own. Options are the same as the settings of the library.")
    page += roff.heading("verbs")
    for verb in verbs:
        page += f".TP\n{roff.bold(verb['verb'])}\n{roff.escape(verb['summary'])} See\n.BR {roff.escape(page_name(verb))} (1).\n"
    page += roff.heading("options")
    for name, text in (("--help, -h", "The verbs; after a verb: what most people need of its options."),
                       ("--help=all", "After a verb: all of its options."), ("--version, -V", "The version.")):
        page += f".TP\n{roff.bold(name)}\n{roff.escape(text)}\n"
    page += roff.heading("exit status") + roff.escape(STATUS) + "\n"
    page += roff.heading("environment")
    page += f".TP\n{roff.bold('OMP_WAIT_POLICY')}, {roff.bold('GOMP_SPINCOUNT')}\n" + roff.escape(
        "How long waiting threads spin. Where neither is set the program chooses some tens of microseconds.\n")
    page += roff.heading("examples") + roff.paragraphs(
        "  stannis train --net lenet --data fashion-mnist --epochs 3\n"
        "  stannis eval --checkpoint run/best.safetensors\n"
        "  stannis predict --checkpoint run/best.safetensors photo1.jpg photo2.png")
    names = [(page_name(verb), 1) for verb in verbs] + [("libstannis", 3)]
    return page + see_also(names)


def main(program, version, date, folder):
    text = subprocess.run([program, "help", "--json"], capture_output=True, text=True, check=True).stdout
    verbs = json.loads(text)
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    pages = {"stannis": main_page(verbs, version, date)}
    pages |= {page_name(verb): verb_page(verb, verbs, version, date) for verb in verbs}
    for name, page in pages.items():
        (pathlib.Path(folder) / f"{name}.1").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
