#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""completions.py PROGRAM FOLDER: completion for bash, zsh and fish, from the program's own table of settings."""
import json
import pathlib
import re
import subprocess
import sys

HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Made from the table of settings.\n"
FILES = ("FILE", "DIR", "SPEC", "IMAGE…")


def plain(text):
    return re.sub(r"\s+", " ", text.replace("`", "")).replace("'", "’")


def options(verb):
    """(name, choices, takes files, takes a value, text) of each option, a flag's other form too."""
    found = [("help", [], False, False, "what most people need of the options"),
             ("help=all", [], False, False, "all options")]
    for row in verb["options"]:
        flag = row["kind"] == "flag"
        found.append((row["name"], row["choices"], row["value"] in FILES, not flag, row["help"]))
        if flag:
            found.append(("no-" + row["name"], [], False, False, "not: " + row["help"]))
    return found


def nets(program):
    text = subprocess.run([program, "models", "--json"], capture_output=True, text=True, check=True).stdout
    return re.findall(r'"name"\s*:\s*"([^"]+)"', text)


def subverbs(verb, verbs):
    """The words that may follow a verb, or the program's name."""
    begin = verb["verb"] + " " if verb else ""
    rests = [other["verb"][len(begin):] for other in verbs if other["verb"].startswith(begin)]
    return [rest for rest in rests if rest and " " not in rest]


# ---- bash --------------------------------------------------------------------------------------

def bash_verb(verb, verbs, names):
    values = "".join(f"            --{name}) COMPREPLY=($(compgen -W '{' '.join(choices)}' -- \"$word\")); return ;;\n"
                     for name, choices in [("net", names), *((o[0], o[1]) for o in options(verb))]
                     if choices and (name != "net" or any(o[0] == "net" for o in options(verb))))
    files = "|".join("--" + option[0] for option in options(verb) if option[2])
    values += f"            {files}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n" if files else ""
    case = f"        case $before in\n{values}        esac\n" if values else ""
    words = " ".join("--" + option[0] for option in options(verb))
    words += "".join(" " + name for name in subverbs(verb, verbs))
    return f"    '{verb['verb']}')\n{case}        words='{words.strip()}' ;;\n"


def bash(verbs, names):
    all_verbs = " ".join(subverbs(None, verbs))
    parents = "|".join(f"'{verb['verb']}'" for verb in verbs if subverbs(verb, verbs)) or "''"
    cases = "".join(bash_verb(verb, verbs, names) for verb in verbs)
    return HEAD + f"""_stannis() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{all_verbs} help --help --version' -- "$word"))
        return
    fi
    local verb=${{COMP_WORDS[1]}}
    case $verb in
    {parents}) [ "$COMP_CWORD" -eq 2 ] || verb="$verb ${{COMP_WORDS[2]}}" ;;
    esac
    case $verb in
    help) words='{all_verbs}' ;;
{cases}    esac
    case $word in
    -* | '') COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _stannis stannis
"""


# ---- zsh ---------------------------------------------------------------------------------------

def zsh_option(option, names):
    name, choices, files, takes, text = option
    words = names if name == "net" else choices
    text = plain(text).replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    action = f":value:({' '.join(words)})" if words else ":file:_files" if files else ":value: " if takes else ""
    return f"            '--{name}[{text}]{action}' \\\n"


def zsh_parent(verb, words):
    return f"""    {verb['verb']})
        if (( CURRENT == 2 )); then
            compadd -- {' '.join(words)}
            return
        fi
        verb="$verb $words[2]"
        shift words
        (( CURRENT-- )) ;;
"""


def zsh(verbs, names):
    described = "\n".join(f"        '{verb['verb']}:{plain(verb['summary'])}'" for verb in verbs if " " not in verb["verb"])
    parents = "".join(zsh_parent(verb, subverbs(verb, verbs)) for verb in verbs if subverbs(verb, verbs))
    cases = "".join(f"    '{verb['verb']}')\n        _arguments \\\n" + "".join(
        zsh_option(option, names) for option in options(verb)) + "            '*:file:_files' ;;\n" for verb in verbs)
    return f"#compdef stannis\n{HEAD}" + f"""_stannis() {{
    local -a verbs
    verbs=(
{described}
        'help:Says what a verb does.'
    )
    if (( CURRENT == 2 )); then
        _describe verb verbs
        return
    fi
    local verb=$words[2]
    shift words
    (( CURRENT-- ))
    case $verb in
{parents}    esac
    case $verb in
    help) _describe verb verbs ;;
{cases}    esac
}}
_stannis "$@"
"""


# ---- fish --------------------------------------------------------------------------------------

def fish_seen(verb):
    return "; and ".join(f"__fish_seen_subcommand_from {word}" for word in verb.split(" "))


def fish_option(verb, option, names):
    name, choices, files, takes, text = option
    words = names if name == "net" else choices
    seen = f"complete -c stannis -n '{fish_seen(verb)}' -l {name} -d '{plain(text)}'"
    return seen + (f" -x -a '{' '.join(words)}'" if words else " -r -F" if files else " -x" if takes else "") + "\n"


def fish_verb(verb, verbs):
    parent, _, word = verb["verb"].rpartition(" ")
    mates = " ".join(subverbs({"verb": parent}, verbs)) if parent else ""
    when = f"'{fish_seen(parent)}; and not __fish_seen_subcommand_from {mates}'" if parent else "__fish_use_subcommand"
    return f"complete -c stannis -n {when} -a {word} -d '{plain(verb['summary'])}'\n"


def fish(verbs, names):
    out = HEAD + f"complete -c stannis -n 'not __fish_seen_subcommand_from {' '.join(subverbs(None, verbs))}' -f\n"
    for verb in verbs:
        out += fish_verb(verb, verbs)
        out += "".join(fish_option(verb["verb"], option, names) for option in options(verb) if "=" not in option[0])
    return out


def main(program, folder):
    text = subprocess.run([program, "help", "--json"], capture_output=True, text=True, check=True).stdout
    verbs, names = json.loads(text), nets(program)
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for name, made in (("stannis", bash), ("_stannis", zsh), ("stannis.fish", fish)):
        (pathlib.Path(folder) / name).write_text(made(verbs, names), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
