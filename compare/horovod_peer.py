"""Horovod on TensorFlow: the same steps as TensorFlow's, gradients exchanged by Horovod over Gloo."""

import os
import socket
import time

import horovod
import syrtos_peer
import tensorflow_peer
import tensorflow as tf


def tell_port(place, port):
    """The rendezvous' port, which only rank 0 knows, to all others."""
    if place["rank"] == 0:
        with socket.create_server((place["hosts"][0], place["port"])) as listener:
            listener.settimeout(120)
            for _ in range(place["ranks"] - 1):
                with listener.accept()[0] as other:
                    other.sendall(str(port).encode())
        return port
    end = time.monotonic() + 120
    while True:
        try:
            with socket.create_connection((place["hosts"][0], place["port"]), timeout=120) as one:
                return int(one.recv(16))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


class HorovodPeer(tensorflow_peer.TensorFlowPeer):
    name = "horovod"
    modes = ("sync",)

    def version(self):
        return f"{horovod.__version__} (TensorFlow {tf.__version__})"

    def train(self, place, images, labels, rule, steps):
        from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
        from horovod.runner.http.http_server import RendezvousServer
        rank, ranks, hosts = place["rank"], place["ranks"], place["hosts"]
        port, server = 0, None
        if rank == 0:
            server = RendezvousServer()
            port = server.start()
            server.init(get_host_assignments(parse_hosts(",".join(f"{h}:1" for h in hosts)), ranks))
        port = tell_port(place, port)
        os.environ.update({
            "HOROVOD_RANK": str(rank), "HOROVOD_SIZE": str(ranks), "HOROVOD_LOCAL_RANK": "0",
            "HOROVOD_LOCAL_SIZE": "1", "HOROVOD_CROSS_RANK": str(rank), "HOROVOD_CROSS_SIZE": str(ranks),
            "HOROVOD_HOSTNAME": hosts[rank], "HOROVOD_CONTROLLER": "gloo",
            "HOROVOD_CPU_OPERATIONS": "gloo", "HOROVOD_GLOO_RENDEZVOUS_ADDR": hosts[0],
            "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
            "HOROVOD_GLOO_IFACE": syrtos_peer.interface_of(hosts[rank])})
        import horovod.tensorflow as hvd
        hvd.init()
        try:
            return self.train_with(hvd, images, labels, rule, steps)
        finally:
            hvd.shutdown()
            if server is not None:
                server.stop()

    def train_with(self, hvd, images, labels, rule, steps):
        self.prepare()
        hvd.broadcast_variables(list(self.model.variables.values()), root_rank=0)

        def body(x, y):
            loss, gradients = self.traced(x, y, None)
            self.update(hvd.grouped_allreduce(list(gradients), op=hvd.Average), rule)
            return loss

        whole = tf.function(body)
        x, y, _ = self.given(images, labels)
        return syrtos_peer.timed_steps(lambda: whole(x, y)[0].numpy(), steps)


if __name__ == "__main__":
    syrtos_peer.serve(HorovodPeer)
