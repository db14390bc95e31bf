//! Data that programs save through rejoin is complete and can be read back; failures are reported as requested.

use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rejoin::jido_signature::{APP_SALTS, SignatureCheck, SigningKey, check, derive_key, sign};
use serde_json::{Value, json};

use crate::contract::changes::{ChangeResult, Saved};
use crate::contract::{Details, ResumePlan, SessionList};
use crate::fixtures::{Amplifier, Claude, Leo, amplifier_slug, claude_slug, id, put};
use crate::world::{Answer, World, memory_of, tries_every_case};

/// Runs `save` with this text on standard input.
fn save<const N: usize>(world: &World, args: [&str; N], input: impl AsRef<[u8]> + Send) -> Answer {
    world.from(world.root()).fed(["save"].iter().chain(&args), input)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Reads a transcript by the rules of Amplifier's own reader: one bad line invalidates all, and each entry has a role.
fn as_amplifier_reads(bytes: &[u8]) -> Result<Vec<Value>, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line has no end".to_owned());
    }
    text.split_terminator('\n')
        .map(|line| {
            let entry: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line:.100}"))?;
            let role = entry["role"].as_str().ok_or_else(|| format!("no role: {line:.100}"))?;
            let is_kept = matches!(role, "user" | "assistant" | "tool");
            let content = entry.get("content");
            let is_content =
                content.is_none_or(|content| content.is_string() || content.is_array() || content.is_null());
            if is_kept && is_content { Ok(entry) } else { Err(format!("odd: {line:.100}")) }
        })
        .collect()
}

fn conversation() -> Vec<Value> {
    vec![
        json!({"role": "system", "content": "be good"}),
        json!({"role": "developer", "content": "context"}),
        json!({"role": "user", "content": "fix the 日本語 parser 🔧 \u{2028} please", "metadata": {"timestamp": "2026-02-01T10:00:00.000+00:00"}}),
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}]}),
        json!({"role": "tool", "tool_call_id": "c1", "name": "bash", "content": "a.txt"}),
        json!({"role": "assistant", "content": [{"type": "text", "text": "Fixed it."}], "metadata": {"timestamp": "2026-02-01T10:05:00.000+00:00"}}),
    ]
}

#[test]
fn saved_transcript_is_readable_by_show_and_amplifier() {
    let world = World::new();
    let project = world.dir("project");
    let session = world.home().join(".amplifier/projects").join(amplifier_slug(&project)).join("sessions").join(id(1));
    let info: Saved = world
        .rejoin(["save", "session-info", "--session-dir", text(&session), "--working-dir", text(&project), "--json"])
        .code(0)
        .json();
    let item = &info.items[0];
    assert_eq!((item.code.as_str(), item.result, item.details.is_none()), ("session-info", ChangeResult::Done, true));

    let input = Value::from(conversation()).to_string();
    let saved: Saved = save(&world, ["transcript", "--session-dir", text(&session), "--json"], &input).code(0).json();
    let counts = saved.items[0].details.as_ref().map(|item| (item.messages, item.left_out));
    assert_eq!((saved.items[0].code.as_str(), counts), ("transcript", Some((4, 2))));
    let path = session.join("transcript.jsonl");
    assert_eq!(Path::new(saved.path()), path);
    let bytes = std::fs::read(&path).expect("a transcript");
    assert_eq!(as_amplifier_reads(&bytes).expect("a conversation"), conversation()[2..]);
    assert!(String::from_utf8_lossy(&bytes).contains("日本語 parser 🔧 \u{2028}"));
    assert_eq!(path.metadata().expect("metadata").mode() & 0o777, 0o600);

    let answer = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
    for part in ["fix the 日本語 parser 🔧", "bash", "a.txt", "Fixed it."] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
    let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(details.session.prompts, Some(1));
    assert_eq!(details.session.launch_path(), project.to_str());
    assert_eq!(details.session.launch_source(), Some("session-info"));

    // Lines result in the same file as a list, so nothing is written.
    let lines: String = conversation().iter().map(|message| format!("{message}\n")).collect();
    let inode = path.metadata().expect("metadata").ino();
    let saved: Saved = save(&world, ["transcript", "--session-dir", text(&session), "--json"], lines).code(0).json();
    assert_eq!((saved.items[0].result, path.metadata().expect("metadata").ino()), (ChangeResult::Unchanged, inode));
}

/// Sends messages until the program ends or all are sent. Returns how the program ended and its peak memory in KiB.
fn feed(mut command: Command, messages: impl Iterator<Item = String>) -> (std::process::Output, u64) {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a program");
    let pid = child.id();
    let mut most = 0;
    let mut stdin = child.stdin.take().expect("a pipe");
    for (number, message) in messages.enumerate() {
        if stdin.write_all(message.as_bytes()).is_err() {
            break;
        }
        if number % 1000 == 0 {
            most = most.max(memory_of(pid));
        }
    }
    most = most.max(memory_of(pid));
    drop(stdin);
    (child.wait_with_output().expect("an end"), most)
}

#[test]
fn save_memory_does_not_grow_with_messages() {
    let total = if tries_every_case() { 100_000 } else { 20_000 };
    let world = World::new();
    let dir = world.dir("session");
    let body = "x".repeat(700);
    let message = |n: usize| format!("{{\"role\":\"user\",\"content\":\"{n} {body}\"}}");
    let list = |count: usize| {
        let message = &message;
        let parts = (0..count).map(move |n| format!("{}{}", if n == 0 { "[" } else { "," }, message(n)));
        parts.chain(["]".to_owned()])
    };
    let command = || {
        let mut command = world.from(world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(["save", "transcript", "--session-dir", text(&dir), "--json"]);
        command
    };
    let count = |output: std::process::Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["items"][0]["details"]["messages"].clone()
    };
    let (output, few) = feed(command(), list(100));
    assert_eq!(count(output), 100);
    let (output, many) = feed(command(), list(total));
    assert_eq!(count(output), total);
    let path = dir.join("transcript.jsonl");
    assert!(path.metadata().expect("metadata").len() > 700 * total as u64);
    assert!(few > 0 && many < few + 4096, "{few} KiB for a few, {many} KiB for many");
    // Lines, and a change in the middle of the existing file, need no more memory either.
    let lines = (0..total).map(|n| if n == total / 2 { "{\"role\":\"user\"}\n".to_owned() } else { message(n) + "\n" });
    let (output, changed) = feed(command(), lines);
    assert_eq!(count(output), total);
    assert!(changed < few + 4096, "{few} KiB for a few, {changed} KiB for a change");
    let bytes = std::fs::read(&path).expect("a transcript");
    assert_eq!(as_amplifier_reads(&bytes).expect("a conversation").len(), total);
}

#[test]
fn killed_save_leaves_old_or_new_transcript() {
    let world = World::new();
    let dir = world.dir("session");
    let path = dir.join("transcript.jsonl");
    let messages = |generation: usize| -> Vec<String> {
        (0..400)
            .map(|n| format!("{{\"role\": \"user\", \"content\": \"{generation} {n} {}\"}}\n", "x".repeat(500)))
            .collect()
    };
    let whole = |generation: usize| messages(generation).concat();
    save(&world, ["transcript", "--session-dir", text(&dir)], whole(0)).code(0);
    let (mut old, mut was_replaced) = (0, 0);
    for generation in 1..60 {
        let mut command = world.from(world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
        command.args(["save", "transcript", "--session-dir", text(&dir)]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a program");
        let mut stdin = child.stdin.take().expect("a pipe");
        let messages = messages(generation);
        // The first half of the kills occur while the program reads, the others while it finishes.
        let sent = if generation < 30 { generation * 13 } else { messages.len() };
        for message in &messages[..sent] {
            stdin.write_all(message.as_bytes()).expect("a reader");
        }
        if generation >= 30 {
            drop(stdin);
            std::thread::sleep(Duration::from_micros(200 * (generation as u64 - 30)));
        }
        child.kill().expect("a program to kill");
        child.wait().expect("an end");
        let text = std::fs::read_to_string(&path).expect("a transcript");
        if text == whole(generation) {
            (old, was_replaced) = (generation, was_replaced + 1);
        } else {
            assert!(text == whole(old), "generation {generation} left something else");
        }
        assert!(generation >= 30 || old == 0, "half a list is none");
    }
    // After some time, the program has ended in any case.
    save(&world, ["transcript", "--session-dir", text(&dir)], whole(99)).code(0);
    assert!(std::fs::read_to_string(&path).expect("a transcript") == whole(99), "{was_replaced} were replaced");
}

#[test]
fn invalid_input_leaves_transcript_and_fails_on_request() {
    let world = World::new();
    let dir = world.dir("session");
    let args = ["transcript", "--session-dir", text(&dir)];
    save(&world, args, "[{\"role\":\"user\",\"content\":\"kept\"}]").code(0);
    let path = dir.join("transcript.jsonl");
    let before = std::fs::read(&path).expect("a transcript");
    for input in [
        "",
        " \n",
        "hello",
        "[",
        "[{\"role\":\"user\"}",
        "{\"role\":\"user\"}\n{\"ro",
        "[1]",
        "{}\n\"x\"\n[]",
        "[{}] {}",
        "7",
    ] {
        let answer = save(&world, args, input).code(1);
        assert_eq!(answer.stdout(), "");
        assert!(answer.stderr().starts_with("error: "), "{input}: {}", answer.stderr());
        assert_eq!(std::fs::read(&path).expect("a transcript"), before, "{input}");
    }
    for input in ["", "hello", "[{\"role\":\"user\"}", "{\"role\":\"user\"}\n{\"ro"] {
        let answer = save(&world, ["--best-effort", "transcript", "--session-dir", text(&dir)], input).code(0);
        assert!(answer.stderr().starts_with("warning: "), "{input}: {}", answer.stderr());
        assert_eq!(std::fs::read(&path).expect("a transcript"), before, "{input}");
    }
    // With `--best-effort`, an item that is not a message is skipped.
    let answer = save(
        &world,
        ["transcript", "--session-dir", text(&dir), "--best-effort"],
        "[{\"role\":\"user\",\"content\":\"new\"},7]",
    );
    assert!(answer.code(0).stderr().contains("because it is not an object"));
    assert_eq!(std::fs::read_to_string(&path).expect("a transcript"), "{\"role\": \"user\", \"content\": \"new\"}\n");

    save(&world, args, "[]").code(0);
    assert_eq!(std::fs::read(&path).expect("a transcript"), b"");
    let nowhere = world.root().join("file/below");
    std::fs::write(world.root().join("file"), "x").expect("a file");
    save(&world, ["transcript", "--session-dir", text(&nowhere)], "[]").code(1);
    save(&world, ["transcript", "--session-dir", ""], "[]").code(2);
    let error = save(&world, ["transcript", "--session-dir", text(&dir), "--json"], "[7]").code(1).error();
    assert!(error.message.contains("message 1 is not an object"), "{}", error.message);
    // With `--best-effort`, wrong arguments are not an error either.
    save(&world, ["transcript", "--best-effort"], "[]").code(0);
    save(&world, ["transcript"], "[]").code(2);
    world
        .with("HOME", "/no/such/home")
        .fed(["save", "transcript", "--best-effort", "--session-dir", text(&dir)], "[]")
        .code(0);
}

#[test]
fn save_records_working_directory_like_amplifier() {
    let world = World::new();
    let real = world.dir("real");
    std::os::unix::fs::symlink(&real, world.root().join("link")).expect("a link");
    let session = world.root().join("made/session");
    let record = |dir: &str| {
        world.rejoin(["save", "session-info", "--session-dir", text(&session), "--working-dir", dir]).code(0);
        let bytes = std::fs::read(session.join("session-info.json")).expect("an info");
        serde_json::from_slice::<Value>(&bytes).expect("JSON")
    };
    let info = record(text(&world.root().join("link/../link/gone")));
    assert_eq!(info["working_dir"], text(&real.join("gone")));
    assert_eq!(info["created_at"], "2026-03-01T12:00:00.000000+00:00");
    assert_eq!(record("~/x y")["working_dir"], text(&world.home().join("x y")));
    let path = session.join("session-info.json");
    std::fs::write(&path, "{\"working_dir\": \"/old\", \"created_at\": \"2025-01-01T00:00:00+00:00\", \"own\": 1.10}")
        .expect("an info");
    assert_eq!(record("/new")["created_at"], "2025-01-01T00:00:00+00:00");
    assert!(std::fs::read_to_string(&path).expect("an info").contains("\"own\": 1.10"));

    let failing = ["save", "session-info", "--session-dir", text(&path), "--working-dir", "/x"];
    world.rejoin(failing).code(1);
    world.rejoin(failing.into_iter().chain(["--best-effort"])).code(0);
    world.rejoin(["save", "session-info", "--session-dir", text(&session), "--working-dir", ""]).code(2);
    let odd = std::ffi::OsStr::from_bytes(b"/\xff");
    let args = ["save", "session-info", "--session-dir", text(&session), "--working-dir"].map(std::ffi::OsStr::new);
    assert!(world.rejoin(args.into_iter().chain([odd])).code(1).stderr().contains("UTF-8"));
}

#[test]
fn leo_pointer_gives_the_directory() {
    let world = World::with_agents();
    let (output, app) = (world.dir("output"), world.dir("output/Demo/app"));
    // The client filed the session under the directory in which it ran, which the transcript does not name.
    let session = world.add(Claude::session(id(1)).in_dir("/elsewhere").turn("build", "built"));
    let filed = world.home().join(".claude/projects").join(claude_slug(&output)).join(format!("{}.jsonl", id(1)));
    put(&filed, std::fs::read(&session).expect("a transcript"));
    std::fs::remove_file(&session).expect("a transcript to move");
    world.rejoin(["resume", text(&app), "--print"]).code(5);

    let context = r#"{"app_name": "Demo", "features": ["search"]}"#;
    let args = ["save", "leo", "--app-dir", text(&app), "--session-id", &id(1), "--context-json", context, "--json"];
    let saved: Saved = world.from(&output).rejoin(args).code(0).json();
    assert_eq!(
        (saved.items[0].code.as_str(), Path::new(saved.path())),
        ("leo", app.join(".agent_session.json").as_path())
    );
    let pointer: Value = serde_json::from_slice(&std::fs::read(saved.path()).expect("a pointer")).expect("JSON");
    assert_eq!(
        pointer,
        json!({
            "session_id": id(1),
            "app_path": app,
            "timestamp": "2026-03-01T12:00:00.000000",
            "context": {"app_name": "Demo", "features": ["search"]},
            "cwd": output,
        })
    );
    let plan: ResumePlan = world.rejoin(["resume", text(&app), "--json"]).plan();
    let dir = plan.launch_dir.expect("a directory");
    assert_eq!((dir.path.as_str(), dir.source.as_str()), (text(&output), "pointer"));
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    world.rejoin(["resume", text(&app)]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(
        (launch.cwd.as_path(), launch.argv.as_slice()),
        (output.as_path(), ["claude", "--resume", &id(1)].map(str::to_owned).as_slice())
    );
}

#[test]
fn pointer_directory_contradicting_store_is_not_evidence() {
    let world = World::with_agents();
    let (home_of_session, app) = (world.dir("work"), world.dir("app"));
    world.add(Claude::session(id(1)).in_dir(&home_of_session).turn("x", "y"));
    world.from(world.dir("planted")).rejoin(["save", "leo", "--app-dir", text(&app), "--session-id", &id(1)]).code(0);
    let plan: ResumePlan = world.rejoin(["resume", text(&app), "--json"]).plan();
    assert_eq!(plan.launch_dir.expect("a directory").path, text(&home_of_session));
}

#[test]
fn save_keeps_other_keys_of_leo_pointer() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Leo::pointer(&app, &id(1)));
    let path = app.join(".agent_session.json");
    let own = "\"reprompter_context\": {\"task_history\": [ {\"task\":  \"dark mode\", \"cost\": 1.10} ]}";
    let old = std::fs::read_to_string(&path).expect("a pointer");
    std::fs::write(&path, old.replacen('{', &format!("{{\n  {own},"), 1)).expect("a pointer");
    let leo = |args: &[&str]| {
        let fixed = ["save", "leo", "--app-dir", text(&app)];
        world.rejoin(fixed.into_iter().chain(args.iter().copied()))
    };
    leo(&["--session-id", &id(2), "--working-dir", "/some/where"]).code(0);
    let new = std::fs::read_to_string(&path).expect("a pointer");
    assert!(new.starts_with(&format!("{{\n  {own},")), "{new}");
    let pointer: Value = serde_json::from_str(&new).expect("JSON");
    assert_eq!((&pointer["session_id"], &pointer["cwd"]), (&json!(id(2)), &json!("/some/where")));
    assert_eq!(pointer["context"]["last_action"], "add a dark mode", "without a new one, the old context is kept");

    for bad in ["pending", "", "-rf", "../x", "--best", "9c0e4a52-8d0f-4b6e-8f53"] {
        leo(&["--session-id", bad]).code(1);
        leo(&["--session-id", bad, "--best-effort"]).code(0);
    }
    for bad in ["{", "[]", "7", "", "null"] {
        leo(&["--session-id", &id(3), "--context-json", bad]).code(1);
    }
    assert_eq!(std::fs::read_to_string(&path).expect("a pointer"), new);
    std::fs::write(&path, "{\"session_id\": ").expect("a broken pointer");
    let answer = leo(&["--session-id", &id(3)]).code(0);
    assert!(answer.stderr().contains("its contents were replaced"), "{}", answer.stderr());
    world.rejoin(["save", "leo", "--app-dir", text(&app.join("gone")), "--session-id", &id(3)]).code(1);
    std::fs::remove_file(&path).expect("a pointer to remove");
    let target = world.root().join("target");
    std::fs::write(&target, "{}").expect("a file");
    std::os::unix::fs::symlink(&target, &path).expect("a link");
    leo(&["--session-id", &id(3)]).code(1);
    assert_eq!(std::fs::read(&target).expect("a file"), b"{}");
}

/// Returns a session as a program passes it, without version, closing time or signature.
fn jido_session(id: &str) -> Value {
    json!({
        "id": id,
        "name": "Demo",
        "project_path": "/home/ana/app",
        "config": {"provider": "anthropic", "model": "m1", "temperature": 0.7, "max_tokens": 4096},
        "created_at": "2026-02-01T10:00:00Z",
        "updated_at": "2026-02-01T10:09:00Z",
        "conversation": [{"id": "1", "role": "user", "content": "tab\t \u{1b}[31m \"é\"", "timestamp": "2026-02-01T10:00:00Z"}],
        "todos": [],
    })
}

/// Returns the key of this machine with a secret.
fn key(secret: &str) -> SigningKey {
    let uname = rustix::system::uname();
    let hostname = uname.nodename().to_string_lossy();
    let short = hostname.split('.').next().filter(|name| !name.is_empty()).unwrap_or("localhost");
    derive_key(APP_SALTS[0], secret, short)
}

const UUID: &str = "3f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50";

#[test]
fn saved_jidocode_session_has_valid_signature() {
    let world = World::new();
    let saved: Saved = save(&world, ["jido", "--json"], jido_session(UUID).to_string()).code(0).json();
    let path = world.home().join(".jido_code/sessions").join(format!("{UUID}.json"));
    assert_eq!((saved.items[0].code.as_str(), Path::new(saved.path())), ("jido", path.as_path()));
    assert_eq!(path.metadata().expect("metadata").mode() & 0o777, 0o600);
    // The secret was created as JidoCode creates it.
    let secret = world.home().join(".jido_code/machine_secret");
    assert_eq!(secret.metadata().expect("metadata").mode() & 0o777, 0o600);
    let secret = std::fs::read_to_string(secret).expect("a secret");
    assert!(secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)));

    let key = key(&secret);
    let bytes = std::fs::read(&path).expect("a session");
    assert_eq!(check(&bytes, std::slice::from_ref(&key)), Ok(SignatureCheck::Valid));
    let value: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!((&value["version"], &value["closed_at"]), (&json!(1), &json!("2026-03-01T12:00:00.000000Z")));
    let changed = String::from_utf8(bytes.clone()).expect("UTF-8").replace("Demo", "Demp");
    assert_eq!(check(changed.as_bytes(), &[key]), Ok(SignatureCheck::Wrong));

    let shown = world.rejoin(["show", UUID]).code(0).stdout();
    assert!(shown.contains("its signature is valid"), "{shown}");
    std::fs::write(&path, changed).expect("a session");
    let details: Details = world.rejoin(["show", UUID, "--json"]).code(0).json();
    assert!(details.session.health.contains(&"signature-invalid".to_owned()), "{:?}", details.session.health);
}

#[test]
fn saved_session_matches_known_vector() {
    let secret = "00112233445566778899aabbccddeeff".repeat(2);
    let key = derive_key(APP_SALTS[0], &secret, "examplehost");
    let vector = r#"{
  "closed_at": "2026-01-02T03:06:05.000000Z",
  "config": {
    "max_tokens": 4096,
    "model": "m1",
    "provider": "anthropic",
    "temperature": 0.7
  },
  "conversation": [
    {
      "content": "tab\there \u001B[31m \"q\" \\ / é",
      "id": "0011223344556677",
      "role": "user",
      "timestamp": "2026-01-02T03:04:06.000000Z"
    }
  ],
  "created_at": "2026-01-02T03:04:05.000000Z",
  "id": "3f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50",
  "language": "rust",
  "name": "demo",
  "project_path": "/tmp/demo",
  "prompt_history": [
    "hi"
  ],
  "signature": "KrSmAzWFt6sb02xtDl0lYDtqB48lqqUFQ9HB/atojIQ=",
  "todos": [],
  "updated_at": "2026-01-02T03:05:05.000000Z",
  "version": 1
}"#;
    assert_eq!(check(vector.as_bytes(), std::slice::from_ref(&key)), Ok(SignatureCheck::Valid));
    assert_eq!(sign(vector.as_bytes(), &key).expect("a file"), vector.as_bytes());
    // The output of `save jido` for the same session differs only in the signature, which is that of this machine.
    let world = World::new();
    put(&world.home().join(".jido_code/machine_secret"), &secret);
    let scrambled: Value = serde_json::from_str(vector).expect("JSON");
    save(&world, ["jido"], scrambled.to_string()).code(0);
    let path = world.home().join(".jido_code/sessions/3f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50.json");
    let written = std::fs::read_to_string(&path).expect("a session");
    let without = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.contains("\"signature\"")).map(str::to_owned).collect()
    };
    assert_eq!(without(&written), without(vector));
    assert_eq!(check(written.as_bytes(), &[self::key(&secret)]), Ok(SignatureCheck::Valid));
    assert_eq!(sign(written.as_bytes(), &key).expect("a file"), vector.as_bytes());
    for (from, to) in [("0.7", "0.8"), ("hi", "ho"), ("4096", "4097"), ("[]", "[null]")] {
        assert_eq!(check(vector.replace(from, to).as_bytes(), std::slice::from_ref(&key)), Ok(SignatureCheck::Wrong));
    }
}

#[test]
fn save_refuses_unresumable_jidocode_session() {
    let world = World::new();
    let sessions = world.home().join(".jido_code/sessions");
    let with = |key: &str, value: Value| {
        let mut session = jido_session(UUID);
        session[key] = value;
        session.to_string()
    };
    let large = with("more", json!("x".repeat(10 * 1024 * 1024)));
    // The file has each `[]` of the list on a separate line, so it exceeds the limit.
    let grows = with("more", Value::from(vec![json!([]); 2_000_000]));
    assert!(grows.len() < 10 * 1024 * 1024);
    for (input, expected) in [
        (String::new(), "standard input is empty"),
        ("hello".to_owned(), "invalid_json"),
        ("[]".to_owned(), "not_a_map"),
        ("{}".to_owned(), "missing_fields"),
        (with("id", json!("../../evil")), "UUID"),
        (with("id", json!("-rf")), "UUID"),
        (with("id", json!(7)), "invalid_id"),
        (with("version", json!(2)), "unsupported_version"),
        (with("name", json!("x".repeat(51))), "1 to 50"),
        (with("project_path", json!("app")), "absolute"),
        (with("created_at", json!("yesterday")), "invalid_timestamp"),
        (
            with(
                "conversation",
                json!([{"id": "1", "role": "robot", "content": "", "timestamp": "2026-02-01T10:00:00Z"}]),
            ),
            "unknown_role",
        ),
        (large, "larger than"),
        (grows, "file_too_large"),
    ] {
        let shown = format!("{:.100}", input);
        let answer = save(&world, ["jido"], &input).code(1);
        assert!(answer.stderr().contains(expected), "{shown}: {}", answer.stderr());
        if input.len() < 1 << 20 || tries_every_case() {
            save(&world, ["jido", "--best-effort"], &input).code(0);
        }
        let left = sessions.read_dir().map_or(0, Iterator::count);
        assert_eq!(left, 0, "{shown}");
    }
}

#[test]
fn save_never_overwrites_existing_id() {
    let world = World::new();
    save(&world, ["jido"], jido_session(UUID).to_string()).code(0);
    let path = world.home().join(".jido_code/sessions").join(format!("{UUID}.json"));
    let before = std::fs::read(&path).expect("a session");
    for id in [UUID.to_owned(), UUID.to_uppercase()] {
        let mut session = jido_session(&id);
        session["name"] = json!("Other");
        let answer = save(&world, ["jido"], session.to_string()).code(1);
        assert!(answer.stderr().contains("is already saved"), "{}", answer.stderr());
    }
    assert_eq!(std::fs::read(&path).expect("a session"), before);
    assert_eq!(path.parent().expect("a directory").read_dir().expect("a listing").count(), 1);

    // If many processes save at once, one of the files is saved, completely.
    let other = "4f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50";
    let codes: Vec<bool> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|n| {
                let mut session = jido_session(other);
                session["name"] = json!(format!("Number {n}"));
                let world = &world;
                scope.spawn(move || save(world, ["jido"], session.to_string()).exit() == Some(0))
            })
            .collect();
        runs.into_iter().map(|run| run.join().expect("an answer")).collect()
    });
    assert_eq!(codes.iter().filter(|is_saved| **is_saved).count(), 1);
    let secret = std::fs::read_to_string(world.home().join(".jido_code/machine_secret")).expect("a secret");
    let bytes = std::fs::read(path.with_file_name(format!("{other}.json"))).expect("a session");
    assert_eq!(check(&bytes, &[key(&secret)]), Ok(SignatureCheck::Valid));
}

#[test]
fn save_refuses_unusable_jidocode_secret() {
    for secret in ["short", ""] {
        let world = World::new();
        put(&world.home().join(".jido_code/machine_secret"), secret);
        let answer = save(&world, ["jido"], jido_session(UUID).to_string()).code(1);
        assert!(answer.stderr().contains("machine_secret"), "{}", answer.stderr());
        assert!(!world.home().join(".jido_code/sessions").exists());
    }
}

#[test]
fn saved_transcript_gets_new_mtime() {
    let world = World::new();
    let session = world.add(Amplifier::session(id(1)).turn("x", "y"));
    let path = session.join("transcript.jsonl");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).expect("a mode");
    let before = path.metadata().expect("metadata");
    save(&world, ["transcript", "--session-dir", text(&session)], "[{\"role\":\"user\",\"content\":\"new\"}]").code(0);
    let after = path.metadata().expect("metadata");
    assert!(after.modified().expect("a time") > before.modified().expect("a time"));
    assert_eq!(after.mode() & 0o777, 0o640);
    let list: SessionList = world.rejoin(["list", "--json"]).code(0).json();
    assert_eq!(list.sessions[0].first_prompt.as_deref(), Some("new"));
}
