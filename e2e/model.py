"""A model server on loopback that stands in for every vendor's: it answers each prompt with plain text and remembers
what it was sent.

A prompt carries a word such as `word-1a2b3c4d`. The answer to it is `heard-1a2b3c4d`, so a request that holds both holds
that turn of a conversation.
"""

import gzip
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "sample-model"
WORD = re.compile(r"word-([0-9a-f]{8})")
POISON = "poisoned-text"  # a request that holds it is refused
REFUSED = {"type": "error", "error": {"type": "invalid_request_error", "code": "invalid_request",
                                      "message": f"messages: the {POISON} cannot be modified"}}


def conversation(body):
    """Returns the part of a request that holds the messages."""
    return json.dumps(body.get("messages") or body.get("input") or body.get("contents") or "", ensure_ascii=False)


def turns(text):
    """Returns the words that a text holds, in their order: `word-1a2b3c4d` for a prompt, `heard-1a2b3c4d` for a reply."""
    return list(dict.fromkeys(re.findall(r"(?:word|heard)-[0-9a-f]{8}", text)))


def example(schema):
    """Returns a value that a JSON schema accepts: for requests that want a title or a judgement."""
    schema = schema if isinstance(schema, dict) else {}
    if schema.get("enum"):
        return schema["enum"][0]
    kind = str(schema.get("type", "string")).lower()
    if kind == "object":
        return {name: example(one) for name, one in (schema.get("properties") or {}).items()}
    return {"array": [], "integer": 1, "number": 1, "boolean": False}.get(kind, "sample")


def wanted_schema(body):
    """Returns the JSON schema of the answer that a request asks for, or None if it asks for text."""
    text = (body.get("text") or {}).get("format") or {}
    chat = body.get("response_format") or {}
    claude = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    gemini = body.get("generationConfig") or {}
    for one in text, chat, claude:
        if isinstance(one, dict) and "json" in str(one.get("type")):
            return one.get("schema") or (one.get("json_schema") or {}).get("schema") or {"type": "object"}
    if gemini.get("responseMimeType") == "application/json":
        return gemini.get("responseJsonSchema") or gemini.get("responseSchema") or {"type": "object"}
    return None


def answer(body):
    schema = wanted_schema(body)
    if schema is not None:
        return json.dumps(example(schema))
    words = WORD.findall(conversation(body))
    return f"I have heard-{words[-1]} of you." if words else "Sample answer."


def pieces(text):
    """Returns the pieces in which a text is streamed, one per word: a client may store each piece as it comes."""
    return re.findall(r"\S+\s*", text)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path.split("?")[0].endswith("/models"):
            one = {"id": MODEL, "object": "model", "created": 1, "owned_by": "sample", "context_length": 200000}
            return self.give({"object": "list", "data": [one], "models": []})
        return self.give({"error": {"message": "not found", "type": "not_found"}}, 404)

    def do_HEAD(self):
        self.give({})

    def do_POST(self):
        body = self.body()
        self.server.requests.append(body)
        self.server.goes_on.wait()
        path = self.path.split("?")[0]
        try:
            if path.endswith(("/count_tokens", ":countTokens")):
                self.give({"input_tokens": 42, "totalTokens": 42})
            elif POISON in conversation(body):
                self.give(REFUSED, 400)
            elif path.endswith("/messages"):
                self.as_claude(body)
            elif path.endswith("/chat/completions"):
                self.as_chat(body)
            elif path.endswith("/responses"):
                self.as_responses(body)
            elif path.endswith((":generateContent", ":streamGenerateContent")):
                self.as_gemini(body, path.endswith(":streamGenerateContent"))
            else:
                self.give({})
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def body(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "chunked" in (self.headers.get("Transfer-Encoding") or "").lower():
            while size := int(self.rfile.readline().strip() or b"0", 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        try:
            if self.headers.get("Content-Encoding") == "gzip":
                raw = gzip.decompress(raw)
            body = json.loads(raw)
        except (OSError, ValueError):
            body = {}
        return body if isinstance(body, dict) else {}

    def give(self, value, code=200):
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self, events):
        """Sends server-sent events: pairs of a name, which may be None, and a value."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, value in events:
            head = f"event: {name}\n" if name else ""
            data = value if isinstance(value, str) else json.dumps(value)
            self.wfile.write(f"{head}data: {data}\n\n".encode())
            self.wfile.flush()

    def as_claude(self, body):
        text = {"type": "text", "text": answer(body)}
        message = {"id": f"msg_{time.time_ns()}", "type": "message", "role": "assistant", "model": body.get("model"),
                   "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 9}}
        if not body.get("stream"):
            return self.give(message | {"content": [text], "stop_reason": "end_turn"})
        events = [
            {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
              for piece in pieces(text["text"])),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 9}},
            {"type": "message_stop"},
        ]
        return self.stream((event["type"], event) for event in events)

    def as_chat(self, body):
        text = answer(body)
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        head = {"id": f"chatcmpl-{time.time_ns()}", "created": int(time.time()), "model": body.get("model") or MODEL}
        if not body.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return self.give(head | {"object": "chat.completion", "choices": [choice], "usage": usage})

        def chunk(delta, end=None):
            choice = {"index": 0, "delta": delta, "finish_reason": end}
            return None, head | {"object": "chat.completion.chunk", "choices": [choice]}

        last = head | {"object": "chat.completion.chunk", "choices": [], "usage": usage}
        first = {"role": "assistant", "content": ""}
        said = [chunk({"content": piece}) for piece in pieces(text)]
        return self.stream([chunk(first), *said, chunk({}, "stop"), (None, last), (None, "[DONE]")])

    def as_responses(self, body):
        text, number = answer(body), time.time_ns()
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}
        usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
                 "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 18}
        head = {"id": f"resp_{number}", "object": "response", "created_at": int(time.time()), "model": body.get("model")}
        whole = head | {"status": "completed", "output": [item], "usage": usage}
        if not body.get("stream"):
            return self.give(whole)
        where = {"output_index": 0}
        inside = where | {"item_id": item["id"], "content_index": 0}
        events = [
            {"type": "response.created", "response": head | {"status": "in_progress", "output": []}},
            where | {"type": "response.output_item.added", "item": item | {"content": [], "status": "in_progress"}},
            inside | {"type": "response.content_part.added", "part": part | {"text": ""}},
            *(inside | {"type": "response.output_text.delta", "delta": piece} for piece in pieces(text)),
            inside | {"type": "response.output_text.done", "text": text},
            inside | {"type": "response.content_part.done", "part": part},
            where | {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": whole},
        ]
        return self.stream((event["type"], event | {"sequence_number": at}) for at, event in enumerate(events))

    def as_gemini(self, body, is_streamed):
        usage = {"promptTokenCount": 9, "candidatesTokenCount": 9, "totalTokenCount": 18}

        def value(text, end):
            candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0} | end
            return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": MODEL}

        end = {"finishReason": "STOP"}
        if not is_streamed:
            return self.give(value(answer(body), end))
        *said, last = pieces(answer(body))
        return self.stream([*((None, value(piece, {})) for piece in said), (None, value(last, end))])


def serve():
    """Starts the server on a free port; its `requests` grow with every prompt that it is sent. While `goes_on` is cleared, it
    answers none."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.requests, server.goes_on = [], threading.Event()
    server.goes_on.set()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
