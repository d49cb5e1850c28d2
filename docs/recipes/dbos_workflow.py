"""DBOS: a durable workflow is parked on a webhook; killed and started again, it still gets the answer once."""

import asyncio
import os
import sys

from aiohttp import web
from dbos import DBOS, SetWorkflowID

from answerback_client import AsyncClient, WebhookError, verify_webhook

URL = os.environ.get("ANSWERBACK_URL", "http://127.0.0.1:8420")
TOKEN = os.environ.get("ANSWERBACK_TOKEN")
SECRET = os.environ["WEBHOOK_SECRET"]
PORT = int(os.environ.get("PORT", "8500"))
DAY = 86_400


@DBOS.workflow()
async def release(version: str) -> str:
    """Releases a version when a person says so, however long that takes."""
    await ask_people(DBOS.workflow_id, version)
    ask = await DBOS.recv_async("answer", timeout_seconds=7 * DAY)  # parked: nothing runs meanwhile
    if ask is None or ask["source"] != "human" or not ask["answers"]["answer"]:
        return f"Version {version} stays where it is."
    return await publish(version)


@DBOS.step(retries_allowed=True, max_attempts=10)
async def ask_people(workflow_id: str, version: str) -> None:
    """Submits the question; a step that is run again after a crash finds the first ask."""
    question = {"question": f"Release version {version}?", "answer_type": "boolean"}
    async with AsyncClient(URL, TOKEN) as answerback:
        await answerback.submit(
            "ask_user",
            question,
            key=workflow_id,
            to="web",
            callback={"url": f"http://127.0.0.1:{PORT}/answers"},
            metadata={"workflow_id": workflow_id},
        )


@DBOS.step()
async def publish(version: str) -> str:
    """The step that the workflow is for."""
    return f"Version {version} is out."


async def answers(request: web.Request) -> web.Response:
    """The webhook: hands the ask to its workflow. A repeat has the same id, and DBOS keeps the first."""
    try:
        event = verify_webhook(await request.read(), request.headers, SECRET)
    except WebhookError as error:
        return web.Response(status=401, text=str(error))
    workflow_id = event.ask.json["metadata"]["workflow_id"]
    await DBOS.send_async(workflow_id, event.ask.json, "answer", idempotency_key=event.id)
    return web.Response(status=204)


async def main(version: str = "7") -> None:
    DBOS(config={"name": "releases", "system_database_url": "sqlite:///workflows.db"})
    DBOS.launch()  # workflows that a crash interrupted continue
    app = web.Application()
    app.router.add_post("/answers", answers)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", PORT).start()
    with SetWorkflowID(f"release-{version}"):  # the same id again is the same workflow
        workflow = await DBOS.start_workflow_async(release, version)
    print(await workflow.get_result())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
