"""CrewAI: a flow waits for people's decision outside of its process. Plain HTTP: nothing of Answerback is imported."""

import json
import os
import sys
import time

import httpx
from crewai import LLM
from crewai.flow.async_feedback import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.flow import Flow, listen, router, start
from crewai.flow.human_feedback import HumanFeedbackResult, human_feedback
from crewai.flow.persistence import SQLiteFlowPersistence

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")


class NoDecisionError(Exception):
    """Nobody decided: the turn was ended, the ask expired, or a person replied with a message instead."""


def call(method: str, path: str, body: dict | None = None, **headers: str) -> dict:
    """One call of the API, repeated for ten minutes if the service is away."""
    if TOKEN:
        headers["Authorization"] = f"Bearer {TOKEN}"
    until = time.monotonic() + 600
    while True:
        try:
            answer = httpx.request(method, URL + path, json=body, headers=headers, timeout=75)
            answer.raise_for_status()
            return answer.json()
        except httpx.HTTPError as error:
            refused = isinstance(error, httpx.HTTPStatusError) and error.response.status_code < 500
            if refused or time.monotonic() > until:
                raise
        time.sleep(1)


class People:
    """Provides human feedback: submits the question, and parks the flow. Nothing waits in memory."""

    def request_feedback(self, context: PendingFeedbackContext, flow: Flow) -> str:
        options = context.metadata["options"]
        decision = {
            "id": "decision",
            "text": context.message,
            "context": str(context.method_output)[:20_000],
            "answer_type": "select",
            "options": options,
        }
        comment = {"id": "comment", "text": "Anything to add?", "answer_type": "text"}
        ask = call(
            "POST",
            "/v1/asks",
            {
                "name": "ask_user",
                "arguments": {"questions": [decision, comment]},
                "to": "web",
                "metadata": {"flow_id": context.flow_id},
            },
            **{"Idempotency-Key": f"{context.flow_id}:{context.requested_at.isoformat()}"},
        )
        raise HumanFeedbackPending(context, callback_info={"ask_id": ask["id"]})


def feedback(ask_id: str) -> str:
    """Waits for an ask; its typed answers as JSON, so that no model has to guess what was meant."""
    while (ask := call("GET", f"/v1/asks/{ask_id}", Prefer="wait=60"))["status"] == "open":
        pass
    if ask["status"] != "answered":
        text = ask["reply"] or ask["status"]
        raise NoDecisionError(text)  # never an empty string: CrewAI would take the first outcome
    return ask["tool_result"]["content"]


def notes_flow(llm) -> type[Flow]:
    """Release notes that a person has to agree to."""

    class Notes(Flow):
        @start()
        @human_feedback(
            message="Publish these release notes?",
            metadata={"options": ["publish", "discard"]},
            provider=People(),
        )
        def draft(self) -> str:
            return llm.call("Write the release notes of version 7.")

        @router(draft)
        def decide(self, given: HumanFeedbackResult) -> str:
            return json.loads(given.feedback)["decision"]

        @listen("publish")
        def out(self) -> str:
            return f"Published: {self.last_human_feedback.output}"

        @listen("discard")
        def thrown_away(self) -> str:
            comment = json.loads(self.last_human_feedback.feedback)["comment"]
            return f"Discarded: {comment}"

    return Notes


def begin(flow: type[Flow], store: SQLiteFlowPersistence) -> tuple[str, str]:
    """Runs up to the question; the flow's id and the ask's, with which it is resumed."""
    pending = flow(persistence=store).kickoff()
    return pending.context.flow_id, pending.callback_info["ask_id"]


def go_on(flow: type[Flow], store: SQLiteFlowPersistence, flow_id: str, ask_id: str) -> str:
    """Resumes a parked flow with the answer, in any process: a webhook may call this."""
    decided = feedback(ask_id)
    return flow.from_pending(flow_id, store).resume(decided)


if __name__ == "__main__":
    notes, store = notes_flow(LLM(model=os.environ["MODEL"])), SQLiteFlowPersistence("flows.db")
    if len(sys.argv) == 3:
        print(go_on(notes, store, *sys.argv[1:]))
    else:
        print("To go on:", *begin(notes, store))
