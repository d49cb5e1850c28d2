"""The agents' API as an aiohttp application: routes, origin guard, authentication, problem documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from aiohttp.web_routedef import AbstractRouteDef

from answerback.api import openapi
from answerback.api.auth import Caller
from answerback.api.descriptions import API_DOCS, ApiDocs
from answerback.api.late_answers import response_tracker_of, send_response
from answerback.api.operation import Api, Call
from answerback.api.origin_guard import guard_route, refuse_cross_origin
from answerback.api.problems import problem_response
from answerback.api.routes import all_operations
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.http.response_arrival import ARRIVAL_TRACKER, ArrivalTracker
from answerback.http.service_workers import service_worker_removal
from answerback.ports.operation import SURFACE_ONLY, Operation
from answerback_base.version import VERSION

_WRONG_ROLE: Final = {
    "agent": "This is for people: send the person's key, or from a custom front end a token with the role surface.",
    "surface": "This token acts for people (role surface); agents need a token with the role agent.",
}
_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}


def build_local_app(
    api: Api,
    *,
    routes: Iterable[AbstractRouteDef] = (),
    pages: Iterable[web.RouteDef] = (),
    loopback: bool = True,
) -> web.Application:
    """Build the application of the local listener.

    Args:
        routes: further routes for agents, which authenticate their callers themselves.
        pages: what a browser may open; on a loopback listener, only by a loopback name.
    """
    app = web.Application(middlewares=[_request_middleware(api)])
    app.on_response_prepare.append(_add_headers)
    app[ARRIVAL_TRACKER] = ArrivalTracker()
    required = api.tokens.required
    operations = all_operations()
    app[API_DOCS] = ApiDocs(lambda: openapi.document(operations, VERSION, tokens=required))
    app.add_routes([_route(api, operation) for operation in operations])
    app.add_routes(routes)
    app.add_routes([guard_route(page) if loopback else page for page in pages])
    return app


def build_public_app(
    api: Api, *, pages: Iterable[web.RouteDef], hooks: Sequence[web.RouteDef]
) -> web.Application:
    """Build the application of the public listener: for platforms, remote people, and operations that are public.

    It has nothing else of the agents' API.

    Args:
        hooks: what platforms call. Their surface handles every error in them, and they bypass the
            middleware, because every click comes through here.
    """
    hook_handlers = [hook.handler for hook in hooks]

    @web.middleware
    async def all_but_hooks(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.match_info.handler in hook_handlers:
            return await handler(request)
        try:
            response = service_worker_removal(request) or await handler(request)
        except Exception as error:  # noqa: BLE001 - the outermost handler
            response = problem_response(request, error)
        return _count(api, request, response)

    app = web.Application(middlewares=[all_but_hooks])
    app.on_response_prepare.append(_add_headers)
    public = (_route(api, each) for each in all_operations() if each.public)
    app.add_routes([*hooks, *pages, *public])
    return app


def _route(api: Api, operation: Operation[Call]) -> web.RouteDef:
    async def handle(request: web.Request) -> web.StreamResponse:
        call = Call(api, request, *await _caller(api, request, operation))
        if call.guest is not None and not operation.guests:
            detail = "A personal link's key only opens its person's asks; use the key that `answerback key` prints."
            raise ProblemError(403, "Not for personal links", detail)
        if operation.query is None and operation.roles is not None:
            call.query(Wire)  # it knows no parameter
        return await operation.handle(call)

    return web.route(operation.method, operation.path, handle)


async def _caller(api: Api, request: web.Request, operation: Operation[Call]) -> Caller:
    if operation.roles is None:
        return Caller()
    if operation.roles == SURFACE_ONLY:
        caller = await api.tokens.authenticate_actor(request)
    elif "surface" in operation.roles:
        caller = await api.tokens.authenticate_reader(request)
    else:
        caller = Caller(agent=await api.tokens.authenticate_agent(request))
    if caller.agent is not None and caller.agent.role not in operation.roles:
        role = caller.agent.role
        raise ProblemError(403, f"Not for {role} tokens", _WRONG_ROLE[role])
    return caller


def _request_middleware(api: Api) -> Middleware:
    """The only middleware: a waiting call holds every middleware it passed, and many calls wait."""
    local = not api.tokens.required

    @web.middleware
    async def handle_request(request: web.Request, handler: Handler) -> web.StreamResponse:
        tracker = response_tracker_of(api, request)
        try:
            refusal = service_worker_removal(request)
            if refusal is None and local:
                refusal = refuse_cross_origin(request)
            try:
                response = refusal or await handler(request)
            except Exception as error:  # noqa: BLE001 - the outermost handler
                response = problem_response(request, error)
            _count(api, request, response)
            await send_response(request, response, tracker)
            return response
        finally:
            if not tracker.is_sent:
                tracker.close()

    return handle_request


def _count(api: Api, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    resource = request.match_info.route.resource
    route = resource.canonical if resource else "none"
    api.metrics.requests.labels(route, str(response.status)).inc()
    return response


async def _add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers that every response has, also one that its handler begins to send."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
