"""Ends with 0 where the server in this container is ready to speak. Bare sockets: it runs every five seconds."""

import os
import socket
import sys

port = os.environ.get("KOEGUMI_PORT") or os.environ.get("VV_PORT") or "50021"
with socket.create_connection(("127.0.0.1", int(port)), timeout=4) as connection:
    connection.sendall(b"HEAD /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    sys.exit(b" 200 " not in connection.recv(64))
