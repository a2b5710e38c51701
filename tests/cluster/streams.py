"""Every host sends to every other for some seconds and prints what it received: "HOST Mbit/s".
   streams.py HOST HOSTS [SECONDS]"""
import socket
import sys
import threading
import time

me, hosts = sys.argv[1], sys.argv[2].split(",")
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 3


def connect(host):
    while True:
        try:
            return socket.create_connection((host, 4000))
        except ConnectionRefusedError:  # it does not listen yet
            time.sleep(0.01)


def send(host):
    block = bytes(1 << 18)
    with connect(host) as connection:
        connection.sendall(me.encode().ljust(8))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            connection.sendall(block)


def receive(connection):
    peer = connection.recv(8, socket.MSG_WAITALL).decode().strip()
    buffer, total, last = bytearray(1 << 18), 0, None
    begin = time.monotonic() + seconds / 5  # links let a burst through at first, and TCP starts slowly
    while count := connection.recv_into(buffer):
        last = time.monotonic()
        total += count if last > begin else 0
    print(f"{peer} {total * 8e-6 / (last - begin):.1f}", flush=True)


server = socket.create_server(("", 4000))
others = [host for host in hosts if host != me]
threads = [threading.Thread(target=send, args=(host,)) for host in others]
for thread in threads:
    thread.start()
for _ in others:
    threads.append(threading.Thread(target=receive, args=(server.accept()[0],)))
    threads[-1].start()
for thread in threads:
    thread.join()
