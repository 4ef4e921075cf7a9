"""When a lane is probably free."""

import math

from ignis.engine.estimate import Estimate


def measured(token_s: float, answers: list[int]) -> Estimate:
    estimate = Estimate()
    for i in range(50):
        estimate.note_round(i * token_s)
    for tokens in answers:
        estimate.note_answer(tokens)
    return estimate


def test_before_anything_is_measured_it_is_a_second() -> None:
    assert Estimate().retry_after_s([(0, 1000)]) == 1


def test_the_lane_with_the_least_to_do_decides() -> None:
    assert measured(0.1, []).retry_after_s([(0, 500), (900, 1000), (0, 300)]) == 10


def test_the_usual_length_counts_where_the_cap_is_far() -> None:
    assert measured(0.1, [200]).retry_after_s([(50, 38912)]) == 15


def test_an_answer_past_the_usual_length_is_given_half_of_it_again() -> None:
    assert measured(0.1, [200]).retry_after_s([(5000, 38912)]) == 10


def test_the_last_to_end_has_half_as_long_to_go_as_it_went_and_no_more_than_its_cap() -> None:
    estimate = measured(0.1, [200])
    ends = [estimate.seconds_to_end([(4, 5), *lanes]) for lanes in ([(50, 9000)], [(5000, 9000)], [(8900, 9000)], [])]
    assert [round(end, 3) for end in ends] == [15.0, 250.0, 10.0, 0.1]


def test_at_the_latest_each_draws_its_cap() -> None:
    lanes = [(4, 5), (50, 90), (8990, 9000)]
    assert round(measured(0.1, [20]).most_seconds_to_end(lanes), 3) == 4.0
    assert Estimate().most_seconds_to_end(lanes) == math.inf
    assert Estimate().most_seconds_to_end([]) == 0


def test_it_is_between_a_second_and_a_minute() -> None:
    assert measured(0.001, []).retry_after_s([(0, 5)]) == 1
    assert measured(1.0, []).retry_after_s([(0, 38912)]) == 60


def test_a_pause_between_requests_is_no_slow_round() -> None:
    estimate = measured(0.1, [])
    estimate.note_pause()
    estimate.note_round(10_000.0)
    assert estimate.retry_after_s([(0, 100)]) == 10
