#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""section3.py INCLUDE VERSION DATE FOLDER: a page for each function of the public headers, and libstannis.3 for all.

What a page says is what the header says: the comment above the declaration, the types that the call takes, and the text
at the head of the file. A function without a comment takes the one above it: they stand together.
"""
import pathlib
import re
import sys

import roff

BOOK = "Library of Stannis"
STATUS = "STN_OK, or what went wrong; stn_last_error has the line that says so."
RULE = re.compile(r"//\s*-{4}.*")


class Header:
    def __init__(self, path):
        self.name = path.name
        lines = expand_lists(path.read_text(encoding="utf-8")).split("\n")
        self.about = uncomment(self.leading(lines[1:]))
        self.items = list(items("\n".join(lines)))

    @staticmethod
    def leading(lines):
        count = next(i for i, line in enumerate(lines) if not line.startswith("//"))
        return lines[:count]

    def functions(self):
        return [item for item in self.items if item.function]


class Item:
    """A declaration at the outermost level, with the comment above it."""

    def __init__(self, comment, text):
        self.comment, self.text = comment, text
        match = re.search(r"\b(stn_\w+)\(", text)
        self.function = match.group(1) if match and text.startswith("STN_EXPORT") else None
        self.types = set(re.findall(r"\b(?:struct|enum)\s+(stn_\w+)", text)) | set(re.findall(r"\bstn_\w+_sink\b", text))

    def defines(self):
        match = re.match(r"(?:struct|enum)\s+(stn_\w+)\s*\{", self.text) or re.match(r"typedef .*?(stn_\w+)\(", self.text)
        return match.group(1) if match else None

    def declaration(self):
        text = re.sub(r"STN_EXPORT\s+|STN_MUST_CHECK\s+|\s*__attribute__\(\(.*?\)\)\)", "", self.text.split("//")[0])
        match = re.match(r"(.*?\(\n?)(.*)\);", re.sub(r"\s+", " ", text))
        return wrap(match.group(1), [part.strip() for part in match.group(2).split(", ")])


def wrap(before, arguments):
    """A call's declaration, arguments below each other where they do not fit."""
    line, lines = before, []
    for i, argument in enumerate(arguments):
        piece = argument + (", " if i + 1 < len(arguments) else ");")
        if len(line) + len(piece) > 76 and line.strip() and line != before:
            lines.append(line.rstrip())
            line = " " * 8
        line += piece
    return "\n".join([*lines, line])


def uncomment(lines):
    texts = [re.sub(r"^\s*// ?", "", line) for line in lines if not RULE.match(line.strip())]
    # What is indented in a comment is shown as it is.
    return "\n".join("  " + text.strip() if re.match(r"\s{3,}", text) else text for text in texts).strip("\n")


def expand_lists(text):
    """An enum made by a list of rows shows its constants."""
    joined = text.replace("\\\n", " ")
    rows = {name: [re.split(r",\s*", row) for row in re.findall(rf"\b{parameter}\(([^()]*(?:\([^()]*\)[^()]*)*)\)", body)]
            for name, parameter, body in re.findall(r"#define (\w+_(?:LIST|MAP))\((\w+)\)([^\n]*)", joined)}
    made = dict((name, (re.split(r",\s*", parameters), body.strip())) for name, parameters, body in
                re.findall(r"#define (\w+)\(([\w, ]+)\) (STN_\w*##[^\n]*)", joined))

    def constants(match):
        if match.group(1) not in rows or match.group(2) not in made:
            return match.group(0)
        parameters, body = made[match.group(2)]
        lines = []
        for row in rows[match.group(1)]:
            values = dict(zip(parameters, row))
            lines.append("    " + re.sub(r"(?:##)?\b(\w+)\b", lambda word: values.get(word.group(1), word.group(0)), body))
        return "\n".join(lines)

    return re.sub(r"^ *(STN_\w+_(?:LIST|MAP))\((\w+)\)$", constants, text, flags=re.MULTILINE)


def items(text):
    body = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
    comment, lines, depth = [], [], 0
    for line in body.split("\n"):
        if not lines and line.startswith("//"):
            comment.append(line)
        elif not lines and not line.strip():
            comment = []
        elif not lines and line.startswith(('extern "C"', "}")):
            continue
        else:
            lines.append(line)
            code = line.split("//")[0]
            depth += code.count("{") - code.count("}")
            if depth == 0 and code.rstrip().endswith(";"):
                yield Item(uncomment(comment), "\n".join(lines))
                lines, comment = [], []


def first_sentence(text):
    flat = re.sub(r"\s+", " ", re.split(r"\n\s*\n", text.strip())[0])
    sentence = re.split(r"(?<=[.:;])\s", flat)[0].rstrip(".:;")
    return sentence[:1].lower() + sentence[1:] if not re.match(r"[A-Z]{2}", sentence) else sentence


def described(header, function):
    """The comment of a function, or of the nearest one above that has one."""
    comment = ""
    for item in header.items:
        comment = item.comment or (comment if item.function else "")
        if item is function:
            trailing = re.search(r"//\s*(.*)$", item.text)
            return comment or (trailing.group(1) if trailing else "") or first_sentence(header.about)
    return comment


def trailing(item):
    match = re.search(r";\s*//\s*(.*)$", item.text)
    return match.group(1) if match else ""


def used_types(headers, function):
    """Definitions that a caller must know, those of arguments first, then what they hold."""
    defined = {item.defines(): item for header in headers for item in header.items if item.defines()}
    found, ahead = [], sorted(function.types)
    while ahead:
        name = ahead.pop(0)
        if name in defined and name not in found and name != "stn_status":
            found.append(name)
            ahead += sorted(defined[name].types - {name})
    return [defined[name] for name in found]


def page(headers, header, function, version, date):
    name = function.function
    text = described(header, function)
    out = roff.title(name, 3, version, date, BOOK)
    out += roff.heading("name") + f"{name} \\- {roff.escape(first_sentence(text))}\n"
    out += roff.heading("synopsis") + ".nf\n" + roff.bold(f"#include <stannis/{header.name}>") + "\n\n"
    out += "\n".join(roff.bold(line) for line in function.declaration().split("\n")) + "\n.fi\n"
    extra = trailing(function)
    whole = text + ("\n\n" + extra[:1].upper() + extra[1:] + "." if extra and extra not in text else "")
    out += roff.heading("description") + roff.paragraphs(whole)
    if "enum stn_status " in function.text:
        out += roff.heading("return value") + roff.escape(STATUS) + "\n"
    types = used_types(headers, function)
    if types:
        out += roff.heading("types")
        for item in types:
            out += (roff.paragraphs(item.comment) if item.comment else "") + roff.code(item.text) + ".PP\n"
        out = out.removesuffix(".PP\n")
    out += roff.heading("notes") + roff.paragraphs(header.about)
    near = [item.function for item in header.functions() if item is not function]
    return out + roff.heading("see also") + roff.links([(other, 3) for other in near] + [("libstannis", 3)])


def overview(headers, version, date):
    out = roff.title("libstannis", 3, version, date, BOOK)
    out += roff.heading("name") + "libstannis \\- trains image classifiers on machines that are not alike\n"
    out += roff.heading("synopsis") + ".nf\n" + roff.bold("#include <stannis/stannis.h>") + "\n\n"
    out += roff.bold("cc program.c $(pkg-config --cflags --libs stannis)") + "\n.fi\n"
    session = next(header for header in headers if header.name == "session.h")
    out += roff.heading("description") + roff.paragraphs(session.about)
    out += roff.heading("functions")
    for header in headers:
        if header.functions():
            out += f'.SS "stannis/{header.name}"\n' + roff.escape(first_capital(header.about)) + "\n"
            for item in header.functions():
                out += f".TP\n.BR {item.function} (3)\n{roff.escape(first_sentence(described(header, item)))}\n"
    return out + roff.heading("see also") + roff.links([("stannis", 1)])


def first_capital(text):
    sentence = first_sentence(text)
    return sentence[:1].upper() + sentence[1:] + "."


def main(include, version, date, folder):
    paths = re.findall(r'#include "(stannis/\w+\.h)"', (pathlib.Path(include) / "stannis/stannis.h").read_text("utf-8"))
    headers = [Header(pathlib.Path(include) / path) for path in paths]
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    pages = {"libstannis": overview(headers, version, date)}
    for header in headers:
        for function in header.functions():
            pages[function.function] = page(headers, header, function, version, date)
    for name, text in pages.items():
        (pathlib.Path(folder) / f"{name}.3").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
