"""A client of --metrics, and a reader of the classic text."""
import http.client
import re


def ask(port, path="/metrics", method="GET", host="127.0.0.1", **headers):
    """(status, type, body)"""
    connection = http.client.HTTPConnection(host, port, timeout=20)
    try:
        connection.request(method, path, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.getheader("Content-Type"), reply.read().decode()
    finally:
        connection.close()


def samples(text):
    """'name{labels}' -> value."""
    return {name: float(value) for name, value in re.findall(r"^([^#\s].*) (\S+)$", text, re.M)}


def port_of(run):
    """That launch took for --metrics=:0; None as long as it has not said so."""
    found = re.search(r"metrics are served at http://\S+:(\d+)/metrics", run.err)
    return int(found.group(1)) if found else None
