import pytest

from rooflut_collect import plan, shard
from rooflut_collect.errors import UserError
from rooflut_collect.plan import PlanSpec
from rooflut_collect.shard import Shard


@pytest.mark.parametrize("count", [1, 2, 7, 25])
def test_shards_partition_the_plan(count):
    rows = plan.build(PlanSpec(("models:llama-3.1-8b@tp1,2",))).rows
    parts = [Shard(index, count).take(rows) for index in range(count)]
    assert sorted(row.key for part in parts for row in part) == sorted(row.key for row in rows)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_each_shard_gets_its_share_of_each_operation():
    rows = plan.build(PlanSpec(("models:llama-3.1-8b@tp1,2",))).rows
    for operation in ("gemm", "decode"):
        shares = [sum(r.operation == operation for r in Shard(i, 4).take(rows)) for i in range(4)]
        assert max(shares) - min(shares) <= 1


@pytest.mark.parametrize("text", ["3", "3/", "a/4", "-1/4", "4/4", "0/0", "1/2/3"])
def test_a_bad_shard_is_refused(text):
    with pytest.raises(UserError, match=f"--shard {text}: "):
        shard.parse(text)


def test_an_index_beyond_the_last_says_which_there_are():
    with pytest.raises(UserError, match="shard 7 of 5; indexes are 0 to 4"):
        shard.parse("7/5")


def test_a_shard_counts_in_a_list_of_indexes():
    assert shard.parse("1/25", [3, 7]) == Shard(7, 25)
    with pytest.raises(UserError, match="position 2 in --indexes, which has 2"):
        shard.parse("2/25", [3, 7])


def test_indexes_are_read_as_they_are_written():
    indexes = shard.parse_indexes("9-12,3,7,10", 25)
    assert indexes == [3, 7, 9, 10, 11, 12]
    assert shard.format_indexes(indexes) == "3,7,9-12"
    for text in ("", "25", "5-3", "1,,2", "x"):
        with pytest.raises(UserError, match="expected 3,7,9-12 with each below 25"):
            shard.parse_indexes(text, 25)
