"""Writes man pages and shell completions, made from what the program says of itself.

    python3 tools/self_description.py PROGRAM SHARE

SHARE/man/man1 gets lenbench.1 and a lenbench-COMMAND.1 for each command, from --help; bash-completion, zsh and fish get what
`lenbench completion` prints, where these shells look for it.
"""

import os
import re
import subprocess
import sys

COMPLETIONS = {"bash": "bash-completion/completions/lenbench", "zsh": "zsh/site-functions/_lenbench",
               "fish": "fish/vendor_completions.d/lenbench.fish"}


def output_of(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def roff(text):
    """Text as roff shows it: no escapes, no commands, hyphens that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def preformatted(lines):
    return "\n".join([".PP", ".nf", ".RS 2", *(roff(line) for line in lines), ".RE", ".fi"])


def sections_of(help_text):
    """(lines before the first heading, {heading: lines}) of a help text."""
    first, *rest = help_text.splitlines()
    head, sections, current = [first], {}, None
    for line in rest:
        match = re.match(r"^([A-Z][\w ]*):(?:\s+(.*))?$", line)
        if match:
            current = sections.setdefault(match.group(1), [])
            if match.group(2):
                current.append(match.group(2))
        elif current is None:
            head.append(line)
        else:
            current.append(line)
    return head, sections


def entries(lines):
    """The two columns of a list of flags: (left, right), with lines that continue joined."""
    found = []
    for line in lines:
        match = re.match(r"^  (\S.*?)(?:\s{2,}(.*))?$", line)
        if match:
            found.append([match.group(1), match.group(2) or ""])
        elif line.strip() and found:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
    return found


def page(title, summary, version, sections):
    parts = [f'.TH "{roff(title.upper())}" 1 "" "{roff(version)}" "lenbench"', ".SH NAME", f"{roff(title)} \\- {roff(summary)}"]
    for heading, lines in sections.items():
        if heading == "Usage":
            parts += [".SH SYNOPSIS", *(f".B {roff(line)}" for line in lines if line.strip())]
        elif heading == "Examples":
            parts += [".SH EXAMPLES", preformatted(line[2:] if line.startswith("  ") else line for line in lines if line.strip())]
        elif entries(lines):
            parts.append(f".SH {heading.upper()}")
            for left, right in entries(lines):
                parts += [".TP", f".B {roff(left)}", roff(right) or "\\&"]
        else:
            parts += [f".SH {heading.upper()}", roff(" ".join(line.strip() for line in lines))]
    return "\n".join(parts) + "\n"


def main_page(program, version):
    head, sections = sections_of(output_of(program, "--help"))
    summary = head[0].split(": ", 1)[1]
    return page("lenbench", summary, version, sections), [left for left, _ in entries(sections["Commands"])]


def command_page(program, command, version):
    head, sections = sections_of(output_of(program, command, "--help"))
    return page(f"lenbench-{command}", head[0], version, sections)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: self_description.py PROGRAM SHARE")
    program, share = sys.argv[1:]
    version = " ".join(output_of(program, "--version").split()[:2])
    text, commands = main_page(program, version)
    pages = {"lenbench": text, **{f"lenbench-{name}": command_page(program, name, version) for name in commands}}
    files = {f"man/man1/{name}.1": text for name, text in pages.items()}
    files.update({path: output_of(program, "completion", shell) for shell, path in COMPLETIONS.items()})
    for path, text in files.items():
        path = os.path.join(share, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
