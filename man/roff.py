# SPDX-License-Identifier: Apache-2.0
"""Text as roff, for manual pages: what both sections share."""
import re


def escape(text):
    """Plain text for the body of a page."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def bold(text):
    return "\\fB" + escape(text) + "\\fP"


def italic(text):
    return "\\fI" + escape(text) + "\\fP"


def title(name, section, version, date, book):
    return f'.TH "{escape(name.upper())}" "{section}" "{date}" "Stannis {escape(version)}" "{book}"\n'


def heading(text):
    return f'.SH "{escape(text.upper())}"\n'


def paragraphs(text):
    """Paragraphs stand between empty lines; lines with a deeper indent are shown as they are."""
    out = []
    for block in re.split(r"\n[ \t]*\n", text.strip("\n")):
        lines = block.split("\n")
        while lines:
            verbatim = lines[0].startswith("  ")
            count = next((i for i, line in enumerate(lines) if line.startswith("  ") != verbatim), len(lines))
            body = escape("\n".join(line[2:] if verbatim else line for line in lines[:count]))
            out.append(f".PP\n.RS 4\n.nf\n{body}\n.fi\n.RE\n" if verbatim else f".PP\n{body}\n")
            lines = lines[count:]
    return "".join(out).removeprefix(".PP\n")


def code(text):
    return f".nf\n{escape(text)}\n.fi\n"


def links(names):
    """Of (name, section) pairs, with commas between."""
    return " ,\n".join(f".BR {escape(name)} ({section})" for name, section in names) + "\n"
