"""The interface for programs as OpenAPI 3.1, from which ``/api`` makes a page for people."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

STATUSES = {
    "consent": "a consent form is to be answered",
    "instructions": "instructions are to be read",
    "quiz": "questions are to be answered",
    "lobby": "in the waiting room",
    "open": "the play has not started",
    "choose": "at K = 0: delegate or play alone",
    "act": "a move is to be made",
    "wait": "the others are deciding",
    "over": "the play is over",
    "stopped": "the play was stopped",
    "paused": "the session is paused",
    "finished": "the session is over",
    "declined": "the person does not take part",
}

TEXT = {"type": "string"}
MAYBE_TEXT = {"type": ["string", "null"]}
MAYBE_NUMBER = {"type": ["number", "null"]}

VIEW: dict[str, Any] = {
    "view": {**TEXT, "description": "changes when anything else but seconds_left does"},
    "status": {"enum": list(STATUSES)},
    "round": {"type": ["integer", "null"], "description": "0 for practice"},
    "rounds": {"type": "integer"},
    "play": {**MAYBE_TEXT, "description": "name of the present play; send it with moves"},
    "role": {**MAYBE_TEXT, "description": "the player as whom the person plays"},
    "infoset": {**MAYBE_TEXT, "description": "what the player knows, if they have to decide"},
    "actions": {"type": "array", "items": TEXT},
    "recommendation": {**MAYBE_TEXT, "description": "null where the mediator is silent"},
    "seconds_left": {**MAYBE_NUMBER, "description": "until a robot moves for the player"},
    "moves": {
        "type": "array",
        "description": "the player's own moves in this play",
        "items": {
            "type": "object",
            "properties": {
                "infoset": TEXT,
                "recommended": MAYBE_TEXT,
                "action": TEXT,
                "by": {"enum": ["player", "robot", "mediator"]},
            },
        },
    },
    "story": {
        "type": "array",
        "description": "at the end: pairs of who and what",
        "items": {"type": "array", "items": TEXT},
    },
    "payoffs": {"type": "object", "additionalProperties": {"type": "number"}},
    "payoff": {**MAYBE_NUMBER, "description": "at the end: the player's own"},
    "points": {"type": "number", "description": "in all rounds so far"},
    "money": MAYBE_TEXT,
    "questions": {"type": "array", "items": {"type": "object"}},
    "continues": {"type": "boolean", "description": "whether to say that one continues"},
    "last": {"type": "boolean", "description": "whether nothing follows"},
    "debrief": {"type": "array", "items": TEXT},
}
"""What a person may see. The same as on their page."""


def describe(address: str) -> dict[str, Any]:
    """The interface of the server at this address."""
    seen = _answer("what the person may see now", {"$ref": "#/components/schemas/View"})
    late = {"409": _answer("too late, or not possible", {"$ref": "#/components/schemas/Error"})}
    play = {"play": TEXT}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Seats of accord serve",
            "version": version("accord"),
            "description": "SEAT is the secret of a private link, .../seat/SEAT: whoever has it "
            "plays there. The interface shows what the page of that link shows, and nothing else. "
            "All requests may be repeated. At most 20 requests per second and link are answered; "
            "others get the status 429. A wrong link gets the status 404, a malformed request 400.",
        },
        "servers": [{"url": address}],
        "paths": {
            "/api/join": {
                "post": _operation(
                    "Come in by the common code",
                    {
                        "201": _answer("the private link", _object({"seat": TEXT})),
                        "409": late["409"],
                    },
                    {"code": TEXT, "name": TEXT, "once": TEXT},
                    required=("code",),
                    note="Send a random text as `once`: repeating it lets nobody else in.",
                )
            },
            "/seat/{seat}/api": {
                "parameters": [SEAT],
                "get": _operation("Look", {"200": seen}),
            },
            "/seat/{seat}/api/news": {
                "parameters": [SEAT],
                "get": _operation(
                    "Wait for news",
                    {"200": seen},
                    note="Answers when `view` is another one than `after`, or after `wait` "
                    "seconds, at most 25.",
                    query={"after": TEXT, "wait": {"type": "number"}},
                ),
            },
            "/seat/{seat}/api/rules": {
                "parameters": [SEAT],
                "get": _operation(
                    "The rules of the game",
                    {
                        "200": _answer(
                            "in words, and the payoffs of all endings if there are few",
                            _object(
                                {
                                    "text": TEXT,
                                    "consent": MAYBE_TEXT,
                                    "roles": {"type": "array", "items": TEXT},
                                    "endings": {"type": "array", "items": {"type": "object"}},
                                }
                            ),
                        )
                    },
                ),
            },
            "/seat/{seat}/api/act": _post(
                "Make a move", {**play, "infoset": TEXT, "action": TEXT}, {"200": seen, **late}
            ),
            "/seat/{seat}/api/choose": _post(
                "At K = 0, let the mediator move, or play alone",
                {**play, "delegate": {"type": "boolean"}},
                {"200": seen, **late},
            ),
            "/seat/{seat}/api/continue": _post(
                "Continue after practice or a round", play, {"200": seen, **late}
            ),
            "/seat/{seat}/api/step": _post(
                "Consent, refuse, or say that one has read the instructions",
                {"step": {"enum": ["consent", "refuse", "instructions"]}},
                {"200": seen},
            ),
            "/seat/{seat}/api/quiz": _post(
                "Answer the questions",
                {"answers": {"type": "array", "items": {"type": ["number", "string"]}}},
                {
                    "200": _answer(
                        "which answers are right",
                        _object({"right": {"type": "array", "items": {"type": "boolean"}}}),
                    ),
                    **late,
                },
            ),
        },
        "components": {"schemas": {"View": _object(VIEW), "Error": _object({"error": TEXT})}},
    }


SEAT = {"name": "seat", "in": "path", "required": True, "schema": TEXT}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _post(summary: str, sent: dict[str, Any], answers: dict[str, Any]) -> dict[str, Any]:
    return {"parameters": [SEAT], "post": _operation(summary, answers, sent, tuple(sent))}


def _operation(
    summary: str,
    answers: dict[str, Any],
    sent: dict[str, Any] | None = None,
    required: tuple[str, ...] = (),
    note: str = "",
    query: dict[str, Any] | None = None,
) -> dict[str, Any]:
    made: dict[str, Any] = {"summary": summary, "description": note, "responses": answers}
    if sent is not None:
        schema = {"type": "object", "required": list(required), "properties": sent}
        made["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    if query is not None:
        made["parameters"] = [
            {"name": name, "in": "query", "schema": schema} for name, schema in query.items()
        ]
    return made
