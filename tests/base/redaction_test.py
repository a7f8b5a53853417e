from __future__ import annotations

import pytest

from critpath.base.redaction import redacted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Loaded /home/ada/env/libcupti.so.12.9", "Loaded [path]/libcupti.so.12.9"),
        ("home is /home/ada", "home is [path]"),
        ("home is /Users/ada/.", "home is [path]."),
        ("see /tmp/s_1/streams/pid_9_stdout.log and stderr.log", "see [path]/pid_9_stdout.log and stderr.log"),
        (r"in C:\Users\Ada L\work\a.nsys-rep now", r"in [path]/a.nsys-rep now"),
        (r"in C:\Users\ada", "in [path]"),
        (r"on \\server\ada\x.log", "on [path]/x.log"),
        ("hook: '/data/ada l/x.so': cannot", "hook: '[path]/x.so': cannot"),
        ("cd ~/work/x.py", "cd [path]/x.py"),
        ("cd ~ada/work/x.py", "cd [path]/x.py"),
        ("HF_TOKEN=hf_abcdef and WANDB_API_KEY='q w'", "HF_TOKEN=[redacted] and WANDB_API_KEY=[redacted]"),
        ("RANK=3", "RANK=[redacted]"),
        ("password: hunter2", "password: [redacted]"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer [redacted]"),
        ("from https://ada:pw@host.org/x", "from https://[redacted]@host.org/x"),
        ("as ada@node7.cluster", "as [redacted]"),
        ("user 'ada' may not", "user [redacted] may not"),
        ("username=ada", "username=[redacted]"),
        ("got ghp_0123456789abcdef", "got [redacted]"),
    ],
)
def test_places_people_and_secrets_are_hidden(text: str, shown: str) -> None:
    assert redacted(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "see https://developer.nvidia.com/ERR_NVGPUCTRPERM",
        "echo 1 >/proc/sys/kernel/perf_event_paranoid",
        "recapture with --cuda-graph-trace=node --sample=none",
        "CPU IP/backtrace samples",
        "Number of CUPTI events produced: \t43, CUPTI buffers: 50.",
        "perf event paranoid level is 2",
        "driver version (13.2) and/or 12.8",
    ],
)
def test_what_tells_nothing_of_anyone_stays(text: str) -> None:
    assert redacted(text) == text
