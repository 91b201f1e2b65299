"""
HTTP/1.1 on sockets: one event loop in a thread of its own serves every connection; it imports nothing else of this package.

The seam is a `Handler` (module `messages`), which is not WSGI:

1. `body_max_bytes(target)` is the bound of a request's body. The server reads the body first, and spools a large one; a
   body beyond the bound is not read, and its request has none.
2. `respond(request)` runs on the loop, and so must return within a moment. It returns the response, or a coroutine that
   does: whatever waits or takes long is awaited there, with `request.in_worker` on a thread of a bounded pool, with
   `asyncio.sleep` and its like as a timer of the loop.
3. A response is sent whole, in timed pieces, or not at all (`Disconnect`, which ends or resets the connection). Its
   `after` runs in a worker once it is sent, its `lost` if it did not reach the client.
4. One connection has one request in the handler at a time, so that responses keep the order of their requests. Nothing
   more is read from a client that does not read its response.
5. `Server.stop` cancels the coroutines and ends every connection; a thread that is in a worker's function is not waited
   for.
"""
