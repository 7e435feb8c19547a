"""A seat as tools for agents of language models, by the Model Context Protocol.

An agent gets what a person at the same seat would see on their page, through the same interface
(``serve/api.py``), and can do what their buttons do. The link of the seat is never shown to it.
"""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer

from accord.errors import AccordError
from accord.serve.client import SeatClient, Situation

INSTRUCTIONS = (
    "You have a seat in a game with other players. Read the rules first. Then look at your "
    "situation, choose when you have to, and wait for news until your situation says that nothing "
    "follows. A mediator may recommend an action to you in private; you may follow it or not."
)


def make_tools(seat: SeatClient) -> MCPServer[Any]:
    """A server whose tools are one seat."""
    server: MCPServer[Any] = MCPServer("accord", instructions=INSTRUCTIONS, log_level="ERROR")

    @server.tool()
    def rules() -> str:
        """The rules of the game: roles, what happens, payoffs, and what the mediator does."""
        found = _tried(seat.rules)
        return "\n\n".join(filter(None, (found["text"], found["consent"])))

    @server.tool()
    def situation() -> dict[str, Any]:
        """What you know now, what the mediator recommends to you, and what you can do."""
        return described(_tried(seat.look))

    @server.tool()
    def recommendation() -> str:
        """What the mediator recommends to you now, in private, if anything."""
        now = _tried(seat.look)
        if now.status != "act":
            return "You are not asked for a move now."
        return now.recommendation or "The mediator is silent."

    @server.tool()
    def choose(action: str) -> dict[str, Any]:
        """Play one of your actions, as recommended or not. You cannot take it back."""
        return described(_tried(lambda: seat.act(action)))

    @server.tool()
    def delegate(yes: bool) -> dict[str, Any]:
        """If your situation asks for it: let the mediator make all your moves, or play alone."""
        return described(_tried(lambda: seat.choose(yes)))

    @server.tool()
    def answer(answers: list[float]) -> dict[str, Any]:
        """Answer the questions on payoffs that your situation has, in their order."""
        return {"right": _tried(lambda: seat.answer(answers))}

    @server.tool()
    def proceed() -> dict[str, Any]:
        """Say that you agree, have read the instructions, or continue to the next round."""
        now = _tried(seat.look)
        if now.status in ("consent", "instructions"):
            return described(_tried(seat.agree))
        return described(_tried(seat.proceed) if now.continues else now)

    @server.tool()
    def wait(seconds: float = 20.0) -> dict[str, Any]:
        """Wait until your situation changes, at most so many seconds, up to 60."""
        now = _tried(seat.look)
        if now.status in ("lobby", "open", "wait", "paused"):
            now = _tried(lambda: seat.wait(now, min(max(seconds, 0.0), 60.0)))
        return described(now)

    return server


HINTS = {
    "consent": "Call proceed if you agree to take part.",
    "instructions": "Read the rules, then call proceed.",
    "quiz": "Answer the questions with answer.",
    "lobby": "Call wait: you will be matched with others.",
    "open": "Call wait: the play has not started.",
    "choose": "Call delegate.",
    "act": "Call choose with one of your actions.",
    "wait": "Call wait: the others are deciding.",
    "paused": "Call wait: there is a pause.",
    "over": "Nothing follows.",
    "stopped": "Nothing follows.",
    "finished": "Nothing follows.",
    "declined": "Nothing follows.",
}


def described(now: Situation) -> dict[str, Any]:
    """A situation for an agent: what matters now, and what to do."""
    shown: dict[str, Any] = {"status": now.status, "role": now.role}
    if now.rounds > 1 and now.round is not None:
        shown["round"] = "practice" if now.round == 0 else f"{now.round} of {now.rounds}"
    if now.status == "act":
        shown |= {
            "what_you_know": now.infoset,
            "actions": list(now.actions),
            "recommendation": now.recommendation or "the mediator is silent",
            "seconds_left": now.seconds_left,
        }
    if now.questions:
        shown["questions"] = [one["text"] for one in now.questions]
    if now.moves:
        shown["your_moves"] = list(now.moves)
    if now.story:
        shown |= {"what_happened": [": ".join(one) for one in now.story], "payoffs": now.payoffs}
    if now.status in ("over", "finished", "stopped"):
        shown |= {"points_so_far": now.points, "money": now.money, "debrief": list(now.debrief)}
    shown["next"] = "Call proceed for the next round." if now.continues else HINTS[now.status]
    return shown


def _tried(request: Any) -> Any:
    """The answer to a request; a refusal becomes an error that the agent can read."""
    try:
        return request()
    except AccordError as error:
        raise ValueError(str(error)) from None
