"""Where the world comes in: clocks, the gateway function, Flask, sockets and the control plane."""
