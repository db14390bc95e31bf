"""The agent programs: how each is installed, set up for the model server, started and asked to go on.

Where each keeps its sessions is said here once more, apart from rejoin's own knowledge of it: a program is not its own
witness.
"""

import base64
import json
import os
import re
import sqlite3
import uuid
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path

from model import MODEL
from terminal import DOWN, ENTER, ERASE_LINE, UP

URL = "http://127.0.0.1:{port}"


@dataclass
class NoPrompt:
    """How a client is tried that answers no prompt here: with invented sessions, which it finds or does not find."""
    why: str  # it answers none
    invent: object  # writes a session of one turn and returns its id; called with the home, the directory and both texts
    lists: list  # prints the ids of the sessions of a directory
    resumes: list  # goes on with a session; {} is its id
    found: dict  # the exit code and the text of its answer to a prompt if it finds the session
    refused: int  # the exit code if it does not


@dataclass
class InTerminal:
    """How a client is started in a terminal to go on with a session, and what `list --running` must show then."""
    arguments: list  # {} is the id
    begins: str = ""  # they begin a session with this id; without, they go on with one
    prepare: object = None  # answers in advance what it would ask at the start; called with the home and the directory
    from_prompt: bool = False  # it may show that it uses a session only from the first prompt on
    ready: str = ""  # the text that it shows when it takes a prompt


@dataclass
class Rewind:
    """How the second and the third turn of a session of three are taken back, so that the next prompt begins a branch."""
    types: str = ""  # the command that is typed in the terminal first
    keys: tuple = ()  # the keys that are pressed then
    arguments: list = None  # start the terminal; without, those of `InTerminal`
    prepare: object = None
    ready: str = ""  # the text that it shows when it takes a command
    adds: object = None  # or writes the record that does it; called with the file
    prompts: int = 1  # the number of prompts that are sent on the new branch; with 0 it has begun none yet


@dataclass
class Client:
    name: str  # of its row in the table
    package: str
    new: list  # a session of one turn, without a terminal; {} is the prompt
    program: str = ""
    agent: str = ""  # as rejoin calls it
    again: list = None  # its own way to go on with the newest session of the directory
    resumed_with: list = field(default_factory=list)  # what rejoin passes on, for the model server to be asked
    why_not_again: str = ""
    node: bool = True  # from npm, else from PyPI
    python: str = ""  # the least version that it needs
    besides: list = field(default_factory=list)  # packages that it needs beside its own
    environment: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)  # what its home must hold; {url} is the model server
    store: str = ""  # a pattern of the files of its sessions
    indexes: tuple = ()  # patterns of other files that rejoin reads
    not_newest: str = ""  # why `--newest` leaves it out
    grows: str = ""  # a session is a folder, and any file that fits this pattern in it grows
    id_of: object = lambda path: path.stem
    rows: tuple = ()  # or a database and a query of ids and what grows
    torn: bool = False  # its sessions are lines of JSON, so the last one can be torn
    mended: bool = False  # and `doctor --fix` repairs that line first, because the client would write on in it or fail
    leaves_stubs: bool = False  # a resume in a later minute leaves a second file of the same id
    by_hand: bool = False  # it takes no session in, so a person types what `restore` says
    carried: bool = False  # `move` leaves it to the client's own export and import
    limits: dict = field(default_factory=dict)  # checks that fail because of what the client itself does, and why
    replies: int = 1  # to the first prompt
    no_prompt: NoPrompt = None
    twin: bool = False  # a second copy beside a session of another directory is a duplicate
    elsewhere: str = ""  # or one in this folder of the store
    terminal: InTerminal = None
    rewind: Rewind = None
    enlarge: object = None  # adds an image or a result in base64 to a record and returns what is in its place, or None; called with both
    why_no_branches: str = "rejoin knows no branches of it"
    stuck: str = ""  # `doctor` reports a session that the model refuses, and `rewind` is `made` or `refused`
    briefs: str = "claude"  # the agent that gets a briefing on its session, by the name of its row
    why_not_running: str = "rejoin finds no process of it, and calls it in use after a recent record only"

    def __post_init__(self):
        self.agent = self.agent or self.name
        self.program = self.program or self.agent

    def files_of(self, home):
        """Returns the files of every session, by id."""
        found = {}
        for path in sorted(glob(f"{home}/{self.store}", recursive=True)) if self.store else []:
            found.setdefault(self.id_of(Path(path)), []).append(Path(path))
        return found

    def sessions(self, home):
        """Returns of every session in how many places it is and what grows with it: bytes, or rows."""
        if not self.rows:
            return {one: (len(paths), sum(map(self.size, paths))) for one, paths in self.files_of(home).items()}
        database, query = self.rows
        if not os.path.exists(f"{home}/{database}"):
            return {}
        with sqlite3.connect(f"file:{home}/{database}?mode=ro", uri=True) as connection:
            return {one: (1, size) for one, size in connection.execute(query)}

    def tidy(self, home):
        """Removes the stubs that Gemini CLI leaves: at its next start it would delete the conversation beside one."""
        for paths in self.files_of(home).values() if self.leaves_stubs else []:
            *stubs, _ = sorted(paths, key=self.size)
            for stub in stubs:
                stub.unlink()

    def recorded(self, home):
        """Returns every file that records a session: all files of its folder if a session is a folder."""
        found = {path for paths in self.files_of(home).values() for path in paths}
        if self.grows or self.id_of in (folder, letta_id):
            found |= {one for path in found for one in path.parent.rglob("*")}
        patterns = [*self.indexes, *self.rows[:1]]
        found |= {Path(path) for pattern in patterns for path in glob(f"{home}/{pattern}", recursive=True)}
        return sorted(path for path in found if path.is_file())

    def size(self, path):
        grown = path.parent.rglob(self.grows) if self.grows else [path]
        return sum(one.stat().st_size for one in grown if one.is_file())


def last_part(path):
    """The id behind the last `_` of a file's name."""
    return path.stem.rsplit("_", 1)[-1]


def uuid_at_end(path):
    return path.stem[-36:]


def folder(path):
    return path.parent.name


def gemini_id(path):
    try:
        with open(path) as file:
            return json.loads(file.readline())["sessionId"]
    except (OSError, ValueError, KeyError):
        return path.stem


# What its folders begin with, in base64; the other ones hold what each agent begins with, which stays empty.
LETTA_FOLDER = "Y29udmVyc2F0aW9u"


def letta_id(path):
    """The id behind `conversation:`."""
    name = path.parent.name
    return base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode().partition(":")[2]


def invented(projects):
    """Returns a function that writes a session as Claude Code and Qoder CLI do, into a folder of the home."""
    def invent(home, folder, prompt, reply):
        one = str(uuid.uuid4())
        file = home / projects / re.sub(r"[^A-Za-z0-9]", "-", str(folder)) / f"{one}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        parent = None
        with open(file, "w") as writer:
            for second, (role, text) in enumerate([("user", prompt), ("assistant", reply)]):
                record = {"type": role, "uuid": str(uuid.uuid4()), "parentUuid": parent, "isSidechain": False, "cwd": str(folder),
                          "sessionId": one, "userType": "external", "entrypoint": "cli", "version": "1.1.52",
                          "timestamp": f"2026-11-20T10:00:0{second}.000Z",
                          "message": {"role": role, "content": [{"type": "text", "text": text}]}}
                parent = record["uuid"]
                writer.write(json.dumps(record) + "\n")
        return one
    return invent


MESSAGES = "select s.id, count(m.id) from session s left join message m on m.session_id = s.id group by s.id"


def opencode_like(name, package, folder_of_data, environment, **more):
    """OpenCode, and what was derived from it."""
    config = {
        "model": f"sample/{MODEL}", "small_model": f"sample/{MODEL}", "autoupdate": False, "share": "disabled",
        "provider": {"sample": {"npm": "@ai-sdk/openai-compatible", "name": "Sample",
                                "options": {"baseURL": "{url}/v1", "apiKey": "none"},
                                "models": {MODEL: {"name": "Sample", "limit": {"context": 200000, "output": 4000}}}}},
    }
    return Client(
        name, package, new=["run", "{}"], again=["run", "--continue", "{}"], environment=environment, **more,
        files={f".config/{folder_of_data}/{folder_of_data}.json": json.dumps(config)},
        rows=(f".local/share/{folder_of_data}/{folder_of_data}.db", MESSAGES),
    )


# The keys of `/undo`, twice. Messages that were taken back are deleted at the next prompt.
UNDO = Rewind(keys=("\x18", "u", "\x18", "u"), arguments=["--session", "{}"], ready="Sample", prompts=0)


def answer_claude(home, folder):
    """Answers the questions of the first start: the theme, the key, and the trust in the directory."""
    file = home / ".claude.json"
    settings = json.loads(file.read_text()) if file.exists() else {}
    settings |= {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["none"], "rejected": []}}
    settings.setdefault("projects", {}).setdefault(str(folder), {})["hasTrustDialogAccepted"] = True
    file.write_text(json.dumps(settings))


def trust_copilot(home, folder):
    (home / ".copilot" / "config.json").write_text(json.dumps({"trustedFolders": [str(folder)]}))


def add_image_for_claude(record, data):
    if record["type"] == "user" and record["message"]["role"] == "user":
        said = record["message"]["content"]
        parts = [{"type": "text", "text": said}] if isinstance(said, str) else said
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        record["message"]["content"] = [*parts, image]
        return [record]


def add_image_for_codex(record, data):
    said = record["payload"]
    if record["type"] == "response_item" and said.get("role") == "user" and "word-" in json.dumps(said):
        said["content"].append({"type": "input_image", "image_url": f"data:image/png;base64,{data}"})
        return [record]


def add_result_for_copilot(record, data):
    if record["type"] == "assistant.message":
        call = {"toolCallId": "call_large", "name": "bash", "arguments": {"command": "cat log"}, "type": "function"}
        record["data"]["toolRequests"] = [call]
        begun = {"toolCallId": "call_large", "toolName": "bash", "arguments": call["arguments"], "turnId": "0"}
        ended = {"toolCallId": "call_large", "turnId": "0", "success": True, "result": {"content": data}}
        records = [record]
        for kind, said in ("tool.execution_start", begun), ("tool.execution_complete", ended):
            records.append({"type": kind, "data": said, "id": str(uuid.uuid4()), "timestamp": record["timestamp"], "parentId": records[-1]["id"]})
        return records


def add_image_for_pi(record, data):
    if record["type"] == "message" and record["message"]["role"] == "user":
        record["message"]["content"].append({"type": "image", "data": data, "mimeType": "image/png"})
        return [record]


def claude(name, package, prompts=1, **more):
    return Client(
        name, package, agent="claude", new=["-p", "{}"], again=["-p", "--continue", "{}"],
        terminal=InTerminal(["--resume", "{}"], prepare=answer_claude),
        environment={"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
                     "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"},
        store=".claude/projects/*/*.jsonl", torn=True, twin=True, stuck="made", briefs="codex", enlarge=add_image_for_claude,
        # From the end of the list to the second prompt, and the first answer to the question what is to be restored.
        rewind=Rewind("/rewind", (UP, UP, ENTER, ENTER, ERASE_LINE), prompts=prompts), **more,
    )


def take_back_turns(file):
    """Writes Codex's record that the last two turns do not count."""
    last = json.loads(file.read_text().splitlines()[-1])
    record = {"timestamp": last["timestamp"], "type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 2}}
    if "ordinal" in last:
        record["ordinal"] = last["ordinal"] + 1
    with open(file, "a") as writer:
        writer.write(json.dumps(record) + "\n")


def rewind_qwen(file):
    """Writes Qwen Code's record of a `/rewind` to the second prompt."""
    records = [json.loads(line) for line in file.read_text().splitlines()]
    second = [record for record in records if record["type"] == "user"][1]
    kept = {name: second[name] for name in ("sessionId", "cwd", "version") if name in second}
    record = kept | {"uuid": str(uuid.uuid4()), "parentUuid": second["parentUuid"], "timestamp": records[-1]["timestamp"],
                     "type": "system", "subtype": "rewind", "systemPayload": {"truncatedCount": 4}}
    with open(file, "a") as writer:
        writer.write(json.dumps(record) + "\n")


# From the last reply in a list of all messages to the reply of the first turn, and no summary of what is left.
TO_FIRST_REPLY = (UP, UP, UP, UP, ENTER, ENTER)


CLIENTS = [
    claude("claude", "@anthropic-ai/claude-code"),
    # The last version that runs with Node 20, which `npm install` takes there; it looks in one project alone. It records the first
    # reply after a rewind only with the next prompt.
    claude("claude-old", "@anthropic-ai/claude-code@2.1.197", prompts=2, not_newest="it is tried because it is old"),
    Client(
        "codex", "@openai/codex", new=["exec", "--skip-git-repo-check", "{}"],
        again=["exec", "--skip-git-repo-check", "resume", "--last", "{}"], environment={"SAMPLE_KEY": "none"},
        files={".codex/config.toml": f'model = "{MODEL}"\nmodel_provider = "sample"\n[model_providers.sample]\n'
                                     'name = "sample"\nbase_url = "{url}/v1"\nenv_key = "SAMPLE_KEY"\n'
                                     'wire_api = "responses"\nrequest_max_retries = 1\nstream_max_retries = 1\n'},
        terminal=InTerminal(["resume", "{}"]),
        store=".codex/*sessions/**/rollout-*.jsonl", id_of=uuid_at_end, torn=True, elsewhere=".codex/sessions/2027/01/05",
        indexes=(".codex/session_index.jsonl", ".codex/state_*.sqlite"), rewind=Rewind(adds=take_back_turns),
        stuck="refused", enlarge=add_image_for_codex,
    ),
    opencode_like("opencode", "opencode-ai", "opencode",
                  {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
                  carried=True, rewind=UNDO, stuck="refused"),
    Client(
        "gemini", "@google/gemini-cli", new=["-m", "gemini-2.5-flash", "-p", "{}"],
        again=["-m", "gemini-2.5-flash", "--resume", "latest", "-p", "{}"],
        environment={"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": "{url}", "COLORTERM": "truecolor"},
        files={".gemini/settings.json": json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}})},
        store=".gemini/tmp/*/chats/session-*.json*", id_of=gemini_id, torn=True, leaves_stubs=True,
        indexes=(".gemini/projects.json", ".gemini/tmp/*/logs.json"), briefs="codex",
        rewind=Rewind("/rewind", (UP, UP, ENTER, ENTER, ERASE_LINE), arguments=["-m", "gemini-2.5-flash", "--resume", "{}"]),
    ),
    Client(
        "qwen", "@qwen-code/qwen-code", new=["-p", "{}"], again=["--continue", "-p", "{}"],
        environment={"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "{url}/v1", "OPENAI_MODEL": MODEL},
        files={".qwen/settings.json": json.dumps({
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}})},
        terminal=InTerminal(["--resume", "{}"]),
        store=".qwen/projects/*/chats/*.jsonl", torn=True, mended=True, twin=True, rewind=Rewind(adds=rewind_qwen), stuck="refused",
    ),
    Client(
        "copilot", "@github/copilot", new=["-p", "{}"], again=["--continue", "-p", "{}"],
        environment={"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "{url}/v1", "COPILOT_AUTO_UPDATE": "false",
                     "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "gpt-4"},
        terminal=InTerminal(["--resume={}"], prepare=trust_copilot, from_prompt=True),
        store=".copilot/session-state/*/events.jsonl", id_of=folder, torn=True, stuck="refused", enlarge=add_result_for_copilot,
    ),
    Client(
        "pi", "@earendil-works/pi-coding-agent@1.5.2", new=["-p", "{}"], again=["--continue", "-p", "{}"],
        environment={"PI_OFFLINE": "1"},
        files={".pi/agent/models.json": json.dumps({"providers": {"sample": {
            "baseUrl": "{url}/v1", "api": "openai-completions", "apiKey": "none", "models": [{"id": MODEL}]}}}),
            ".pi/agent/settings.json": json.dumps({"defaultProvider": "sample", "defaultModel": MODEL})},
        store=".pi/agent/sessions/*/*.jsonl", id_of=last_part, torn=True, twin=True,
        rewind=Rewind("/tree", TO_FIRST_REPLY, arguments=["--session", "{}"]), stuck="refused", enlarge=add_image_for_pi,
    ),
    Client(
        "vibe", "mistral-vibe", node=False, python="3.12", new=["--trust", "-p", "{}"], again=["--trust", "--continue", "-p", "{}"],
        environment={"SAMPLE_KEY": "none", "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"},
        files={".vibe/config.toml": 'active_model = "sample"\nenable_update_checks = false\nenable_telemetry = false\n'
                                    '[[providers]]\nname = "sample"\napi_base = "{url}/v1"\napi_key_env_var = "SAMPLE_KEY"\n'
                                    'api_style = "openai"\nbackend = "generic"\n[[models]]\n'
                                    f'name = "{MODEL}"\nprovider = "sample"\nalias = "sample"\n'},
        terminal=InTerminal(["--trust", "--resume", "{}"]),
        store=".vibe/logs/session/unified/*/meta.json", id_of=folder, grows="*",
        limits={"synced": "it cannot rebuild the plugin environment of a session in another home"},
    ),
    Client(
        "kimi", "kimi-cli<1.46", node=False, python="3.13", new=["--print", "-p", "{}"], again=["--print", "--continue", "-p", "{}"],
        environment={"KIMI_CLI_NO_AUTO_UPDATE": "1"},
        files={".kimi/config.toml": 'default_model = "sample"\ntelemetry = false\n[models.sample]\nprovider = "sample"\n'
                                    f'model = "{MODEL}"\nmax_context_size = 100000\n[providers.sample]\n'
                                    'type = "openai_legacy"\nbase_url = "{url}/v1"\napi_key = "none"\n'},
        store=".kimi/sessions/*/*/context.jsonl", id_of=folder, torn=True, indexes=(".kimi/kimi.json",),
        not_newest="1.52, its last version, resumes nothing",
    ),
    Client(
        "kimicode", "@moonshot-ai/kimi-code", program="kimi", new=["-p", "{}"], again=["--continue", "-p", "{}"],
        environment={"KIMI_CODE_NO_AUTO_UPDATE": "1"},
        files={".kimi-code/config.toml": 'default_model = "sample"\ntelemetry = false\n[models.sample]\nprovider = "sample"\n'
                                         f'model = "{MODEL}"\nmax_context_size = 100000\n[providers.sample]\n'
                                         'type = "openai"\nbase_url = "{url}/v1"\napi_key = "none"\n'},
        store=".kimi-code/sessions/*/session_*/agents/main/wire.jsonl", id_of=lambda path: path.parents[2].name, torn=True, stuck="refused",
        indexes=(".kimi-code/sessions/*/session_*/state.json", ".kimi-code/session_index.jsonl"),
        limits={"synced": "it finds no session in a directory that it was not started in before"},
    ),
    opencode_like("kilo", "@kilocode/cli-linux-x64@7.7.9", "kilo", {"KILO_DISABLE_AUTOUPDATE": "1"},
                  carried=True, rewind=UNDO, stuck="refused"),
    Client(
        "hermes", "hermes-agent", node=False, python="3.12", new=["chat", "-Q", "-q", "{}"],
        why_not_again="it goes on with the newest session of all directories", by_hand=True,
        files={".hermes/config.yaml": f"model:\n  default: {MODEL}\n  provider: custom\n  base_url: {{url}}/v1\n  api_key: none\n"},
        rows=(".hermes/state.db", "select s.id, count(m.id) from sessions s left join messages m on m.session_id = s.id group by s.id"),
    ),
    Client(
        "gptme", "gptme", node=False, python="3.12", new=["-n", "{}"], again=["-n", "--resume", "{}"],
        environment={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "none", "MODEL": f"local/{MODEL}"},
        # A session that was begun without a terminal ends at once in one.
        terminal=InTerminal(["--name", "{}"], begins="in-a-terminal", from_prompt=True, ready="waiting for input"),
        store=".local/share/gptme/logs/*/conversation.jsonl", id_of=folder, torn=True, stuck="refused",
        replies=3,  # without a terminal it asks twice more for the call of a tool
    ),
    Client(
        "openhands", "openhands", node=False, python="3.12", new=["--headless", "--override-with-envs", "-t", "{}"],
        why_not_again="it goes on with the newest session of all directories",
        resumed_with=["--override-with-envs"],
        environment={"LLM_API_KEY": "none", "LLM_BASE_URL": "{url}/v1", "LLM_MODEL": f"openai/{MODEL}"},
        store=".openhands/conversations/*/base_state.json", id_of=folder, grows="event-*.json",
    ),
    Client(
        "letta", "@letta-ai/letta-code", new=["--backend", "local", "--new-agent", "-m", f"lmstudio/{MODEL}", "-p", "{}"],
        why_not_again="without a terminal it begins a new conversation each time",
        environment={"LMSTUDIO_BASE_URL": "{url}/v1", "LETTA_CODE_TELEM": "0", "DISABLE_AUTOUPDATER": "1"},
        store=f".letta/lc-local-backend/conversations/{LETTA_FOLDER}*/messages.jsonl", id_of=letta_id, torn=True, mended=True,
    ),
    Client(
        "omp", "@oh-my-pi/pi-coding-agent@18.2.3", besides=["bun"],
        new=["--provider", "sample", "--model", MODEL, "-p", "{}"],
        again=["--provider", "sample", "--model", MODEL, "--continue", "-p", "{}"],
        files={".omp/agent/models.json": json.dumps({"providers": {"sample": {
            "baseUrl": "{url}/v1", "api": "openai-completions", "apiKey": "none", "models": [{"id": MODEL}]}}})},
        terminal=InTerminal(["--provider", "sample", "--model", MODEL, "--resume", "{}"], from_prompt=True),
        store=".omp/agent/sessions/*/*.jsonl", id_of=last_part, torn=True, rewind=Rewind("/tree", TO_FIRST_REPLY), stuck="refused",
    ),
    Client(
        "grok", "@xai-official/grok", new=["-p", "{}"], again=["--continue", "-p", "{}"],
        environment={"GROK_TELEMETRY_ENABLED": "false"},
        files={".grok/config.toml": '[cli]\nauto_update = false\n[features]\ntelemetry = false\n[models]\ndefault = "sample"\n'
                                    f'[model.sample]\nmodel = "{MODEL}"\nbase_url = "{{url}}/v1"\napi_key = "none"\n'},
        store=".grok/sessions/*/*/updates.jsonl", id_of=folder, torn=True, stuck="refused",
        rewind=Rewind("/rewind", (DOWN, ENTER, ENTER, ERASE_LINE), arguments=["--resume", "{}"]),
    ),
    Client(
        # With 1.45.0 of that package it does not start.
        "commandcode", "command-code", program="command-code", besides=["@opentelemetry/semantic-conventions@1.40.0"],
        new=["--trust", "--skip-onboarding", "-p", "{}"], again=["--trust", "--skip-onboarding", "--continue", "-p", "{}"],
        environment={"CMD_LOCAL_ONLY": "1", "COMMAND_CODE_API_KEY": "none", "COMMANDCODE_SKIP_UPDATES": "1"},
        files={".commandcode/providers.json": json.dumps({"provider": {"sample": {
            "api": "openai-completions", "baseURL": "{url}/v1", "apiKey": False, "models": {MODEL: {"contextWindow": 200000}}}}}),
            ".commandcode/settings.json": json.dumps({"model": MODEL, "modelProvider": "sample", "tasteLearning": False})},
        store=".commandcode/projects/*/*-*-*-*-????????????.jsonl", torn=True, mended=True, twin=True,
        indexes=(".commandcode/projects/*/*.meta.json",),
        rewind=Rewind("/tree", TO_FIRST_REPLY, arguments=["--trust", "--skip-onboarding", "--resume", "{}"]), stuck="refused",
    ),
    Client(
        "qoder", "@qoder-ai/qodercli", program="qodercli", new=[], again=["-p", "--continue", "{}"],
        store=".qoder/projects/*/*.jsonl", twin=True,
        no_prompt=NoPrompt("it answers a prompt only with an account", invented(".qoder/projects"), lists=["--list-sessions"],
                           resumes=["-p", "--resume", "{}", "any"], found={"ending": (1,), "saying": "Not logged in"}, refused=42),
    ),
]

# The agents for which there are no checks, and why.
NO_TERMINAL, ACCOUNT, REGISTRY, ONLY_READ = (
    "without a terminal it resumes no session by its id", "it needs an account", "neither npm nor PyPI has the program",
    "its files were never measured, so its sessions are only read")
NOT_TRIED = {
    "aider": NO_TERMINAL, "amplifier": REGISTRY, "auggie": ACCOUNT, "cline": NO_TERMINAL, "continue": NO_TERMINAL,
    "crush": "its npm package fetches the program from elsewhere", "droid": ACCOUNT, "goose": REGISTRY, "jido": REGISTRY, "nanocoder": NO_TERMINAL,
    **dict.fromkeys(["amp", "antigravity", "cursor", "devin", "kiro", "prime", "roo"], ONLY_READ),
}
