from critpath.run.hosts import Axis, hosts

S = 1_000_000_000
BOOT = 1_780_000_000 * S


def axis(name: str | None = "node", *, at: int = 0, boot: int = BOOT, **more: object) -> Axis:
    told: dict[str, object] = {"declared": None, "hostname": name, "utc_ns": boot + at, "system_ns": at, "gpu": None}
    return Axis(**(told | more))  # type: ignore[arg-type]


def test_one_name_and_clocks_that_agree_are_one_host() -> None:
    found = hosts([axis(at=5 * S), axis(at=9 * S, utc_ns=BOOT + 9 * S + 300_000_000)])
    assert [h.key for h in found] == ["node", "node"]
    # The monotonic clock tells the distance, whatever UTC has been corrected by meanwhile.
    assert [h.zero_ns for h in found] == [BOOT + 5 * S, BOOT + 9 * S]
    assert all(h.shared_clock for h in found)


def test_containers_of_one_name_on_two_machines_are_two_hosts() -> None:
    found = hosts([axis(at=S), axis(at=S, boot=BOOT + 40 * S), axis(at=2 * S)])
    assert [h.key for h in found] == ["node#1", "node#2", "node#1"]


def test_containers_of_different_names_that_share_a_gpu_are_one_host() -> None:
    found = hosts([axis("a", gpu="GPU-1"), axis("b", gpu="GPU-1"), axis("b", gpu="GPU-2", boot=BOOT + 99 * S)])
    assert [h.key for h in found] == ["a", "a", "b"]


def test_what_the_user_says_comes_first() -> None:
    found = hosts([axis("a", declared="rack1"), axis("a", declared="rack2"), axis("b", declared="rack1"), axis("a")])
    assert [h.key for h in found] == ["rack1", "rack2", "rack1", "a"]


def test_before_the_monotonic_clock_was_told_the_name_is_all_there_is() -> None:
    found = hosts([axis(system_ns=None), axis(system_ns=None, at=7 * S)])
    assert [h.key for h in found] == ["node", "node"]
    assert [h.zero_ns for h in found] == [BOOT, BOOT + 7 * S]
    assert not any(h.shared_clock for h in found)


def test_units_without_a_name_are_hosts_of_their_own() -> None:
    found = hosts([axis(None), axis(None)])
    assert [h.key for h in found] == ["unnamed host#1", "unnamed host#2"]
