"""Remove service workers that are not the service's own.

A program that held the service's port for a moment can have registered one in a browser, where it would outlive that
program and read everything that people open at this address. A browser checks a worker's script for updates at each
visit, past the worker and past caches: the script that it then gets here removes the worker.

The service's own worker, which shows notifications, has a path that depends on a key. It removes itself wherever it is
not registered for its own folder, where no page is.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

_SCRIPT: Final = """\
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(remove()));
async function remove() {
  await self.registration.unregister();
  for (const name of await caches.keys()) await caches.delete(name);
  for (const page of await self.clients.matchAll({ type: "window" })) await page.navigate(page.url);
}
"""
OWN_WORKER: Final = "service_worker"
"""The name of the route of the service's own worker, which answers for itself."""
_HEADERS: Final = {
    "Cache-Control": "no-store",
    # Without this, a browser ignores the update of a worker whose script is in a folder below its scope.
    "Service-Worker-Allowed": "/",
}


def service_worker_removal(request: web.Request) -> web.Response | None:
    """Return the script that removes a service worker, if a browser requests the script of one.

    https://w3c.github.io/ServiceWorker/#service-worker-script-request
    """
    if request.headers.get("Service-Worker") != "script":
        return None
    if request.match_info.route.name == OWN_WORKER:
        return None
    return removal_response()


def removal_response() -> web.Response:
    return web.Response(text=_SCRIPT, content_type="text/javascript", headers=_HEADERS)
