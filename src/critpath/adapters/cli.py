"""The command line.

Exit codes: 0 made, 1 a check failed, 2 could not run. Results go to stdout, messages to stderr.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper

from cyclopts import App, CycloptsError

from critpath import __version__
from critpath.adapters.commands.analyze import analyze
from critpath.adapters.commands.demo import demo
from critpath.adapters.commands.doctor import doctor
from critpath.adapters.commands.explain import explain
from critpath.adapters.commands.schema import schema
from critpath.adapters.commands.simulate import simulate
from critpath.adapters.commands.taxonomy import taxonomy
from critpath.adapters.output import ResultConsole, print_error, print_note
from critpath.base.errors import CritpathError

__all__ = ["COMMANDS", "COULD_NOT_RUN", "app", "main", "run"]

COMMANDS = (analyze, doctor, demo, explain, taxonomy, simulate, schema)
"""Every command; its name is the function's, its help the function's docstring."""

COULD_NOT_RUN = 2
"""Exit code of bad input, bad options, and our own faults."""


def app() -> App:
    """The command line's parser."""
    made = App(
        name="critpath",
        help="Critical-path diagnosis of distributed GPU training from Nsight Systems exports.",
        version=__version__,
        help_format="markdown",
        console=ResultConsole(),
    )
    for command in COMMANDS:
        made.command(command)
    return made


def run(words: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code.

    Args:
        words: the words after the program's name; those of the process by default.
    """
    try:
        result = app()(words, exit_on_error=False, print_error=False, result_action="return_value")
        # What waits in the buffer may meet a closed pipe; that must happen here, not while Python exits.
        sys.stdout.flush()
    except CritpathError as error:
        print_error(error)
        return COULD_NOT_RUN
    except CycloptsError as error:
        print_note(f"critpath: {error}\nTry: critpath --help")
        return COULD_NOT_RUN
    except BrokenPipeError:
        # Whoever read our output has enough of it; Python must not complain about that while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print_note("critpath: interrupted")
        return COULD_NOT_RUN
    except Exception:
        traceback.print_exc()
        print_note("critpath: this is a fault of critpath, not of your capture; please report the lines above")
        return COULD_NOT_RUN
    return result if isinstance(result, int) else 0


def main() -> None:
    """Entry point of the `critpath` program."""
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.encoding.lower().startswith("utf"):
        # JSON is UTF-8 wherever it is written, and the report's bars and signs fit into no smaller set.
        sys.stdout.reconfigure(encoding="utf-8")
    sys.exit(run())


if __name__ == "__main__":
    main()
