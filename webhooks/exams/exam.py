"""The exam of a webhook receiver: the probes, the order of their requests, and the judge of the answers.

`exam_requests` writes the requests. The service (`exam_runner`) or the merchant's own tool sends the requests, and the same
judge reads the answers of both. It sees only statuses and times, as from outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus

MOST_REQUESTS = 40
MOST_KINDS = 14  # each is a genuine request beside the other 26
MOST_TIMEOUTS = 3
SECONDS = 120  # of a whole exam
PROMPT_MS = 1_000  # above, the dispatcher sends an endpoint fewer requests at once (`concurrency`)


class Verdict(StrEnum):
    """The result of a probe."""

    PASSED = "passed"
    FAILED = "failed"
    ADVICE = "advice"  # works, and would better be otherwise
    NOT_RUN = "not_run"


class Expect(StrEnum):
    """The answer with which a probe passes."""

    ACCEPT = "accept"  # 2xx
    REFUSE = "refuse"  # 4xx
    PREFER = "prefer"  # 2xx, anything else is advice
    PROMPT = "prompt"  # judged by the times of the others


class Manner(StrEnum):
    """How a request is sent."""

    WHOLE = "whole"
    IN_PIECES = "in_pieces"  # the body in three TCP segments, one second apart
    HANG_UP = "hang_up"  # the connection is closed after the body, before an answer


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe: what it sends, the expected answer, and what another answer means.

    A probe isn't run if one that it `needs` fails, because it would fail for the same reason.
    """

    name: str
    sends: str
    expect: Expect
    section: str  # of the guide
    finding: str
    needs: tuple[str, ...] = ("genuine",)


OTHER_LAYOUT = "other_layout"
VERIFY, ONCE, ANSWER, BODY = (
    "verify-the-signature",
    "handle-each-event-once",
    "answer-the-request",
    "the-request",
)
PROBES = (
    Probe("genuine", "A correct request for each subscribed event", Expect.ACCEPT, VERIFY,
          "it refused a genuine event", needs=()),
    Probe("no_signature", "No signature header", Expect.REFUSE, VERIFY, "it accepted a request without a signature"),
    Probe("empty_signature", "An empty signature header", Expect.REFUSE, VERIFY, "it accepted an empty signature"),
    Probe("wrong_key", "A signature made with another key", Expect.REFUSE, VERIFY,
          "it accepted a signature made with another key"),
    Probe("altered_body", "A body whose amount was changed after signing", Expect.REFUSE, VERIFY,
          "it accepted a body that was changed after signing"),
    Probe("odd_signatures", "Signatures of other lengths and characters", Expect.REFUSE, VERIFY,
          "it accepted a malformed signature"),
    Probe(OTHER_LAYOUT, "The same JSON with other white space, key order and escapes", Expect.ACCEPT, VERIFY,
          "it probably parses and re-encodes the JSON before it verifies the signature"),
    Probe("duplicate", "A genuine event again, as the second attempt", Expect.ACCEPT, ONCE,
          "it must accept an event that it has handled before"),
    Probe("at_once", "One event twice at the same time", Expect.ACCEPT, ONCE,
          "it must accept both of two simultaneous requests with one event", needs=("duplicate",)),
    Probe("lost_acknowledgement", "A connection closed before the answer, then the event again", Expect.ACCEPT, ONCE,
          "it must accept an event whose first answer was lost", needs=("duplicate",)),
    Probe("old", "An event from eight days ago", Expect.ACCEPT, ONCE,
          "it must accept old events, because events are resent after an outage", needs=("out_of_order",)),
    Probe("out_of_order", "Two events, the newer one first", Expect.ACCEPT, ONCE,
          "it must accept events in any order"),
    Probe("stranger", "A transfer to a static account, which you never requested", Expect.ACCEPT, BODY,
          "it must accept payments that you didn't create"),
    Probe("unknown_field", "New fields at several levels", Expect.ACCEPT, BODY, "it must ignore unknown fields"),
    Probe("unicode", "Names with combining marks, right-to-left text and emoji", Expect.ACCEPT, BODY,
          "it must accept every Unicode character in text", needs=("other_layout",)),
    Probe("large", "A body of 64 KiB", Expect.ACCEPT, BODY, "it must accept bodies of 64 KiB", needs=("unknown_field", "in_pieces")),
    Probe("in_pieces", "The body in three parts, one second apart", Expect.ACCEPT, BODY,
          "it probably reads only once instead of Content-Length bytes"),
    Probe("unknown_event", "An event of a kind that doesn't exist yet", Expect.PREFER, BODY,
          "answer unknown events with 2xx, because new kinds may be added"),
    Probe("prompt", "The time of all answers", Expect.PROMPT, ANSWER, ""),
)  # fmt: skip
PROBE = {probe.name: probe for probe in PROBES}

WRONG_PATH = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)
RAW_BYTES = ". Does it verify the raw bytes, with the right signing key?"
RE_ENCODED = (
    ", but accepted one as a JSON encoder writes it. It parses and re-encodes the body before it verifies the signature. "
    "Verify the raw bytes."
)
UNREACHED = "connection_refused"
# What became of a request without an answer, by the sender's class of failure.
FAILURES = {
    "timeout": "no answer within 10 seconds",
    "blocked_address": "the address is not a public one",
    "tls_certificate": "the certificate is not valid for this address",
    "tls_error": "the TLS handshake failed",
    "dns_error": "the name could not be looked up",
    UNREACHED: "the connection was refused",
    "connection_reset": "the connection was reset",
    "disconnected": "the connection was closed without an answer",
    "bad_answer": "the answer is not HTTP",
    "network_error": "the exchange failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamRequest:
    """One request. Requests of one step are sent at the same time."""

    number: int  # from 1
    step: int
    probe: str
    headers: dict[str, str]
    body: str
    manner: Manner = Manner.WHOLE

    @property
    def needs(self) -> list[str]:
        """Return the probes without which it isn't sent: each of their requests so far must have had a 2xx answer.

        Other layouts are sent in any case, because they show why a receiver refuses a genuine event.
        """
        if self.probe == OTHER_LAYOUT:
            return []
        return _needed(self.probe) or [self.probe]

    @property
    def is_judged(self) -> bool:
        return self.manner is not Manner.HANG_UP


@dataclass(frozen=True, slots=True)
class ExamAnswer:
    """The answer to a request, or the class of its failure. Milliseconds, without the pauses between pieces."""

    status: int | None
    error: str
    ms: float

    @property
    def is_accepted(self) -> bool:
        return self.status is not None and HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def is_refused(self) -> bool:
        return (
            self.status is not None
            and HTTPStatus.BAD_REQUEST <= self.status < HTTPStatus.INTERNAL_SERVER_ERROR
        )


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a probe found. `request` and `answer` are those that decided it. It `is_waiting` until it can be judged."""

    probe: Probe
    verdict: Verdict
    cause: str
    request: ExamRequest | None = None
    answer: ExamAnswer | None = None
    is_waiting: bool = False


Answers = Mapping[int, ExamAnswer]  # by the request's number


def steps_of(requests: Sequence[ExamRequest]) -> Iterator[list[ExamRequest]]:
    """Yield the requests of each step."""
    for step in sorted({request.step for request in requests}):
        yield [request for request in requests if request.step == step]


def is_needless(request: ExamRequest, requests: Sequence[ExamRequest], answers: Answers) -> bool:
    """Return whether a request isn't sent, because a probe that it needs was not accepted."""
    return any(
        not answers[each.number].is_accepted
        for each in requests
        if each.probe in request.needs and each.is_judged and each.number in answers
    )


def is_given_up(answers: Answers) -> bool:
    """Return whether so many requests timed out that no more are sent."""
    return sum(answer.error == "timeout" for answer in answers.values()) >= MOST_TIMEOUTS


def judge(requests: Sequence[ExamRequest], answers: Answers, *, is_over: bool) -> list[ProbeResult]:
    """Return the result of every probe, in the order of the table."""
    return _Judge(requests, answers, is_over=is_over).results()


def has_passed(results: Collection[ProbeResult]) -> bool:
    return not any(result.verdict is Verdict.FAILED for result in results)


def _needed(name: str) -> list[str]:
    """Return the probes that a probe needs, directly or indirectly.

    >>> _needed("large")
    ['unknown_field', 'in_pieces', 'genuine']
    """
    direct = PROBE[name].needs
    return list(dict.fromkeys([*direct, *(further for each in direct for further in _needed(each))]))


def _crash(requests: Sequence[ExamRequest], answers: Answers) -> ExamRequest | None:
    """Return the request in which a receiver crashed: it answered earlier ones, and all later connections failed.

    That is the first one without an answer, or the last one with an answer if the next connection was refused.
    """
    sent = [each for each in requests if each.number in answers]
    answered = [place for place, each in enumerate(sent) if answers[each.number].status is not None]
    if not answered:
        return None
    last, *later = sent[answered[-1] :]
    errors = [answers[each.number].error for each in later]
    if UNREACHED not in errors:
        return None
    return last if errors[0] == UNREACHED else later[0]


class _Judge:
    def __init__(self, requests: Sequence[ExamRequest], answers: Answers, *, is_over: bool) -> None:
        self._requests, self._answers, self._is_over = requests, answers, is_over
        self._found: dict[str, ProbeResult] = {}
        self._crash = _crash(requests, answers)

    def results(self) -> list[ProbeResult]:
        return [self._result(probe) for probe in PROBES]

    def _result(self, probe: Probe) -> ProbeResult:
        if probe.name not in self._found:
            self._found[probe.name] = self._judge(probe)
        return self._found[probe.name]

    def _judge(self, probe: Probe) -> ProbeResult:
        if self._crash is not None and self._is_after(self._crash, probe):
            return self._judge_crash(self._crash, probe)
        for needed in _needed(probe.name):
            if self._result(PROBE[needed]).verdict is Verdict.FAILED:
                return ProbeResult(probe, Verdict.NOT_RUN, f"Not run, because {needed} failed.")
        if probe.expect is Expect.PROMPT:
            return self._judge_times(probe)
        judged = [each for each in self._requests if each.probe == probe.name and each.is_judged]
        results = [self._judge_request(probe, each) for each in judged]
        worst = [each for each in results if each.verdict is not Verdict.PASSED]
        found = next((each for each in worst if each.verdict is Verdict.FAILED), (worst or results)[-1])
        return self._explained(found) if probe.name == "genuine" else found

    def _explained(self, genuine: ProbeResult) -> ProbeResult:
        """Return the result of the genuine events with the likely cause of a refusal."""
        if genuine.answer is None or not genuine.answer.is_refused or genuine.answer.status in WRONG_PATH:
            return genuine
        layouts = [each.number for each in self._requests if each.probe == OTHER_LAYOUT]
        is_reencoded = any(self._answers[number].is_accepted for number in layouts if number in self._answers)
        cause = RE_ENCODED if is_reencoded else RAW_BYTES
        return replace(genuine, cause=genuine.cause.removesuffix(".") + cause)

    def _is_after(self, crash: ExamRequest, probe: Probe) -> bool:
        """Return whether a probe is the one that a receiver crashed in, or one of its requests came later."""
        later = {each.probe for each in self._requests if each.number > crash.number}
        return probe.name in {crash.probe, *later} or probe.expect is Expect.PROMPT

    def _judge_crash(self, crash: ExamRequest, probe: Probe) -> ProbeResult:
        cause = f"Your receiver stopped answering after the probe `{crash.probe}`"
        if probe.name != crash.probe:
            return ProbeResult(probe, Verdict.NOT_RUN, f"{cause}.")
        answer = self._answers[crash.number]
        return ProbeResult(probe, Verdict.FAILED, f"{cause}: it probably crashed.", crash, answer)

    def _judge_request(self, probe: Probe, request: ExamRequest) -> ProbeResult:
        answer = self._answers.get(request.number)
        if answer is None:
            is_waiting = not self._is_over
            return ProbeResult(probe, Verdict.NOT_RUN, self._why_unanswered(), request, is_waiting=is_waiting)
        verdict, cause = _verdict(probe, answer)
        return ProbeResult(probe, verdict, cause, request, answer)

    def _why_unanswered(self) -> str:
        if not self._is_over:
            return "Not sent yet."
        if is_given_up(self._answers):
            return f"Not sent, because {MOST_TIMEOUTS} requests timed out."
        return f"The exam ended before this was sent. It lasts at most {SECONDS} seconds."

    def _judge_times(self, probe: Probe) -> ProbeResult:
        unsent = [each for each in self._requests if each.number not in self._answers]
        is_cut = any(not is_needless(each, self._requests, self._answers) for each in unsent)
        timed = [each for each in self._requests if each.is_judged and each.number in self._answers]
        if is_cut and not self._is_over:
            return ProbeResult(probe, Verdict.NOT_RUN, "Known when all answers are there.", is_waiting=True)
        slowest = max(timed, key=lambda each: self._answers[each.number].ms, default=None)
        answer = self._answers[slowest.number] if slowest else None
        late = [each for each in timed if self._answers[each.number].error == "timeout"]
        if late:
            slowest, answer = late[0], self._answers[late[0].number]
            return ProbeResult(
                probe, Verdict.FAILED, "A request had no answer within 10 seconds.", slowest, answer
            )
        if answer is None or is_cut:
            return ProbeResult(probe, Verdict.FAILED, self._why_unanswered(), slowest, answer)
        seconds = f"The slowest answer took {answer.ms / 1000:.1f} seconds"
        if answer.ms > PROMPT_MS:
            advice = (
                f"{seconds}: an endpoint that is silent for over a second gets at most two events at once."
            )
            return ProbeResult(probe, Verdict.ADVICE, advice, slowest, answer)
        return ProbeResult(
            probe, Verdict.PASSED, f"The slowest answer took {answer.ms:.0f} ms.", slowest, answer
        )


def _verdict(probe: Probe, answer: ExamAnswer) -> tuple[Verdict, str]:
    """Return the verdict on one answer, with its cause."""
    worse = Verdict.ADVICE if probe.expect is Expect.PREFER else Verdict.FAILED
    if answer.status is None:
        failure = FAILURES.get(answer.error, FAILURES["network_error"])
        return worse, f"{failure[0].upper()}{failure[1:]}{_explained(probe)}."
    is_expected = answer.is_refused if probe.expect is Expect.REFUSE else answer.is_accepted
    meaning = "" if is_expected else f": {_meaning(probe, answer.status)}"
    return Verdict.PASSED if is_expected else worse, f"Your receiver answered {answer.status}{meaning}."


def _meaning(probe: Probe, status: int) -> str:
    """Return what an unexpected status means."""
    if status < HTTPStatus.OK:
        return "this is not a final answer"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return "redirects are not followed"
    if probe.expect is Expect.REFUSE and status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "it crashed, and refused by accident"
    return probe.finding


def _explained(probe: Probe) -> str:
    """Return what a missing answer means, for probes that send something unusual and expect acceptance."""
    is_usual = probe.name == "genuine" or probe.expect is Expect.REFUSE
    return "" if is_usual else f": {probe.finding}"
