"""Every host sends to every other for some seconds and prints what it received: "HOST Mbit/s".
   streams.py HOST HOSTS SECONDS DIRECTORY

The hosts meet in the directory, so that all of them measure in the same moments: of several
streams over one link, each one's rate says nothing, but their sum does."""
import os
import socket
import sys
import threading
import time

me, hosts, seconds, directory = sys.argv[1], sys.argv[2].split(","), float(sys.argv[3]), sys.argv[4]
others = [host for host in hosts if host != me]


def send(connection, start):
    block = bytes(1 << 16)
    while time.time() < start + seconds:
        connection.sendall(block)
    connection.close()


def receive(connection, peer, start):
    begin = start + seconds / 4  # links let a burst through at first, and TCP starts slowly
    end = start + seconds * 3 / 4
    buffer, total = bytearray(1 << 18), 0
    while count := connection.recv_into(buffer):
        total += count if begin <= time.time() < end else 0
    print(f"{peer} {total * 8e-6 / (end - begin):.1f}", flush=True)


def meet(name):
    """Waits for all; returns a moment soon after the last one came, the same one on all hosts."""
    files = [os.path.join(directory, f"{host}.{name}") for host in hosts]
    with open(files[hosts.index(me)], "w"):
        pass
    while not all(map(os.path.exists, files)):
        time.sleep(0.01)
    return max(os.stat(file).st_mtime for file in files) + 0.3


server = socket.create_server(("", 4000))
meet("listens")
outgoing = [socket.create_connection((host, 4000)) for host in others]
for connection in outgoing:
    connection.sendall(me.encode().ljust(8))
incoming = []
for _ in others:
    connection = server.accept()[0]
    incoming.append((connection, connection.recv(8, socket.MSG_WAITALL).decode().strip()))
start = meet("connected")
time.sleep(max(0, start - time.time()))
threads = [threading.Thread(target=send, args=(connection, start)) for connection in outgoing]
threads += [threading.Thread(target=receive, args=(*pair, start)) for pair in incoming]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
