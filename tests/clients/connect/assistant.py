"""Connects an assistant with the published Python SDK: discovery from the address of the tools, consent, a call, a refresh and the revocation.

    python assistant.py <address of the tools> <id of the member> <API key> [address of its metadata document]

Prints each address that a person has to open as `open …`, and waits for the redirect at a local address.
"""

import asyncio
import json
import sys
import time
import urllib.parse
import urllib.request

import httpx2
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

WAIT_LIMIT = 20


class Kept:
    """Stores the tokens and the registration of the client."""

    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Door:
    """A local HTTP server for the redirect of the browser."""

    def __init__(self):
        self.came = asyncio.Queue()
        self.sent = 0

    async def start(self):
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/callback"

    async def answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        target = urllib.parse.urlsplit(head.split(" ")[1])
        body = b"<!doctype html><title>App</title>Back in the app."
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()
        if target.path == "/callback":
            await self.came.put(dict(urllib.parse.parse_qsl(target.query)))

    async def send(self, address):
        self.sent += 1
        print("open", address, flush=True)

    async def wait(self):
        sent = await asyncio.wait_for(self.came.get(), WAIT_LIMIT)
        return AuthorizationCodeResult(code=sent["code"], state=sent.get("state"), iss=sent.get("iss"))


def ask(method, address, form=None, key=None):
    body = urllib.parse.urlencode(form).encode() if form else None
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with urllib.request.urlopen(urllib.request.Request(address, body, headers, method=method), timeout=WAIT_LIMIT) as answer:
        return json.load(answer)


async def search(session):
    found = await session.call_tool("search", {"query": "casa"})
    assert not found.is_error and isinstance(found.structured_content["data"], list), found


async def main():
    address, member, key, *document = sys.argv[1:]
    base = address.removesuffix("/mcp")
    kept, door = Kept(), Door()
    redirect = await door.start()
    metadata = OAuthClientMetadata(client_name="Notes in Python", redirect_uris=[redirect])
    auth = OAuthClientProvider(address, metadata, kept, door.send, door.wait, client_metadata_url=document[0] if document else None)
    async with httpx2.AsyncClient(auth=auth, timeout=WAIT_LIMIT * 2) as http, streamable_http_client(address, http_client=http) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            assert "search" in [tool.name for tool in (await session.list_tools()).tools]
            await search(session)
            assert door.sent == 1
            if document:
                assert kept.client.client_id == document[0]

            # An expiry in the past makes the SDK refresh the access token.
            old = kept.tokens
            auth.context.token_expiry_time = time.time() - 1
            await search(session)
            assert kept.tokens.access_token != old.access_token and kept.tokens.refresh_token != old.refresh_token and door.sent == 1

            client = {"client_id": kept.client.client_id}
            if kept.client.client_secret:
                client["client_secret"] = kept.client.client_secret
            ask("POST", f"{base}/oauth/revoke", {**client, "token": kept.tokens.refresh_token})
            await search(session)
            assert door.sent == 2, "what is revoked is over, and it starts anew"

            app = urllib.parse.quote(kept.client.client_id, safe="")
            ask("DELETE", f"{base}/api/v1/connections/{app}/{member}", key=key)
            await search(session)
            assert door.sent == 3, "a connection that is ended is over, and it starts anew"
    door.server.close()


asyncio.run(asyncio.wait_for(main(), WAIT_LIMIT * 6))
