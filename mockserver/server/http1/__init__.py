"""
HTTP/1.1 on sockets: one event loop in a thread of its own serves every connection, by a transport of asyncio and a task.

It imports nothing else of `mockserver`. The interface is a `Handler` (module `messages`), which is not WSGI:

1. `body_max_bytes(head)` is the bound of a request's body. The server reads the body first, and spools a large one until
   the response is sent; a body beyond the bound is not read, and its request has none.
2. `respond(request)` runs on the loop, and so must not block. It returns the response, or a coroutine that returns it:
   the coroutine awaits what takes long with `request.in_worker`, on a thread of a bounded pool, and time with
   `asyncio.sleep` or a timer of the loop.
3. A response is sent whole, in timed pieces, or not at all (`Disconnect`, which ends or resets the connection). Its
   `after` follows once it is sent, its `on_lost` if it did not reach the client.
4. One connection has one request in the handler at a time, so that responses are in the order of their requests. The
   server reads nothing more from a client that does not read its response.
5. `Server.stop` cancels the coroutines and ends every connection; it waits at most some milliseconds for the function
   of a worker.
"""
