//! Files that JidoCode accepts and refuses.

use serde_json::{Value, json};

use super::*;

fn good() -> Value {
    json!({
        "version": 1,
        "id": "3f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50",
        "name": "demo",
        "project_path": "/tmp/demo",
        "config": {"provider": "openai", "model": "m1", "temperature": 0.7, "max_tokens": 4096},
        "language": "rust",
        "created_at": "2026-01-02T03:04:05.000000Z",
        "updated_at": "2026-01-02T03:05:05.000000Z",
        "closed_at": "2026-01-02T03:06:05.000000Z",
        "conversation": [
            {"id": "0011", "role": "user", "content": "hi é\n", "timestamp": "2026-01-02T03:04:06Z"},
            {"id": "0012", "role": "tool", "content": "", "timestamp": "2026-01-02T04:04:07+01:00",
             "usage": {"input_tokens": 1, "output_tokens": 2, "total_cost": 0.1}}
        ],
        "todos": [{"content": "Run tests", "status": "in_progress", "active_form": "Running tests"}],
        "prompt_history": ["hi", 7, "earlier"],
        "signature": "KrSm="
    })
}

/// Parses the good session with one value, at a JSON pointer, replaced; `None` removes it.
fn changed(pointer: &str, value: Option<Value>) -> Result<JidoSession, LoadError> {
    let mut session = good();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match (session.pointer_mut(parent).expect("a parent"), value) {
        (Value::Object(parent), Some(value)) => drop(parent.insert(key.to_owned(), value)),
        (Value::Object(parent), None) => drop(parent.remove(key).expect("a member")),
        (parent, value) => parent[key.parse::<usize>().expect("an index")] = json!(value),
    }
    parse(session.to_string().as_bytes())
}

fn timestamp(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

#[test]
fn parser_reads_every_field_of_valid_session() {
    let session = parse(good().to_string().as_bytes()).expect("a session");
    assert_eq!(session.name, "demo");
    assert_eq!(session.id, "3f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50");
    assert_eq!(session.project_path, "/tmp/demo");
    assert_eq!(session.model.as_deref(), Some("m1"));
    assert_eq!(session.messages.len(), 2);
    assert_eq!(session.messages[0].text, "hi é\n");
    assert_eq!(session.messages[1].role, Role::Tool);
    assert_eq!(session.messages[1].at, Some(timestamp("2026-01-02T03:04:07Z")));
    assert!(session.is_signed);
}

#[test]
fn parser_accepts_what_jidocode_tolerates() {
    let session = changed("/config", Some(json!({"provider": null}))).expect("a session");
    assert_eq!(session.model.as_deref(), Some(DEFAULT_MODEL));
    for absent in ["/config/provider", "/language", "/prompt_history"] {
        assert!(changed(absent, None).is_ok(), "{absent}");
    }
    for (signature, is_signed) in [(None, false), (Some(Value::Null), false), (Some(json!(12)), true)] {
        assert_eq!(changed("/signature", signature).expect("a session").is_signed, is_signed);
    }
    let odd = [
        ("/closed_at", json!("soon")),
        ("/closed_at", Value::Null),
        ("/prompt_history", json!("hi")),
        ("/language", json!(1)),
        ("/id", json!("../x")),
    ];
    for (pointer, value) in odd {
        assert!(changed(pointer, Some(value)).is_ok(), "{pointer}");
    }
}

#[test]
fn refusal_codes_match_jidocode() {
    let table = [
        ("/version", json!("1"), "invalid-version"),
        ("/version", json!(1.0), "invalid-version"),
        ("/version", json!(0), "invalid-version"),
        ("/version", json!(-1), "invalid-version"),
        ("/version", json!(2), "unsupported-version"),
        ("/version", json!(u64::MAX), "unsupported-version"),
        ("/id", json!(7), "invalid-id"),
        ("/name", Value::Null, "invalid-name"),
        ("/project_path", json!([]), "invalid-project-path"),
        ("/config", json!([]), "invalid-config"),
        ("/conversation", json!({}), "invalid-conversation"),
        ("/todos", json!("[]"), "invalid-todos"),
        ("/conversation/1", json!(1), "invalid-message"),
        ("/todos/0", Value::Null, "invalid-todo"),
        ("/created_at", json!(1), "invalid-timestamp"),
        ("/updated_at", json!("2026-01-02"), "invalid-timestamp"),
    ];
    for (pointer, value, code) in table {
        let refusal = changed(pointer, Some(value)).expect_err(pointer);
        assert_eq!(refusal.code(), code, "{pointer}");
        let name = format!("({})", code.replace('-', "_"));
        assert!(refusal.to_string().ends_with(&name), "{refusal}");
    }
    let refusal = changed("/created_at", Some(Value::Null)).expect_err("a refusal");
    assert!(refusal.to_string().ends_with("(missing_timestamp)"));
}

#[test]
fn refusal_names_invalid_message_or_todo() {
    let few = json!({"role": "user"});
    let table = [
        ("/conversation/1", json!(1), "message 2: not_a_map"),
        ("/conversation/0", few, "missing_fields: id, content, timestamp"),
        ("/conversation/0/id", json!(1), "message 1: invalid_id"),
        ("/conversation/0/role", json!(1), "invalid_role"),
        ("/conversation/0/role", json!("root"), "unknown_role"),
        ("/conversation/0/content", json!([]), "invalid_content"),
        ("/conversation/0/timestamp", json!("now"), "invalid_timestamp"),
        ("/todos/0", json!([]), "todo 1: not_a_map"),
        ("/todos/0", json!({"status": 1}), "missing_fields: content, active_form"),
        ("/todos/0/content", json!(1), "invalid_content"),
        ("/todos/0/status", json!(1), "invalid_status"),
        ("/todos/0/status", json!("done"), "unknown_status"),
        ("/todos/0/active_form", json!(1), "invalid_active_form"),
    ];
    for (pointer, value, words) in table {
        let refusal = changed(pointer, Some(value)).expect_err(pointer).to_string();
        assert!(refusal.contains(words), "{refusal}");
    }
}

#[test]
fn parser_checks_version_between_types_and_contents() {
    let text = good().to_string().replace("\"version\":1", "\"version\":2");
    let refused = |from, to| parse(text.replace(from, to).as_bytes()).expect_err("a refusal");
    assert_eq!(refused("\"role\":\"user\"", "\"role\":0").code(), "unsupported-version");
    assert_eq!(refused("\"name\":\"demo\"", "\"name\":0").code(), "invalid-name");
}

#[test]
fn error_lists_missing_fields_in_jidocode_order() {
    let refusal = parse(br#"{"todos":null,"id":1,"name":"","closed_at":1}"#).expect_err("a refusal");
    assert_eq!(refusal.code(), "missing-fields");
    assert_eq!(
        refusal.to_string(),
        "JidoCode refuses it: missing fields: version, project_path, config, created_at, updated_at, conversation \
         (missing_fields)"
    );
}

#[test]
fn parser_refuses_non_objects_and_invalid_json() {
    let table: [(&[u8], &str); 8] = [
        (b"[1]", "not-a-map"),
        (b" null ", "not-a-map"),
        (b"", "invalid-json"),
        (b"{", "invalid-json"),
        (b"{} {}", "invalid-json"),
        (b"{\"id\": \"\xff\"}", "invalid-json"),
        (b"\xef\xbb\xbf{}", "invalid-json"),
        (br#"{"\ud800": 1}"#, "invalid-json"),
    ];
    for (bytes, code) in table {
        assert_eq!(parse(bytes).expect_err("a refusal").code(), code, "{bytes:?}");
    }
}

#[test]
fn first_duplicate_key_wins() {
    let text = good().to_string().replacen('{', r#"{"name":"first","na\u006de":3,"#, 1);
    assert_eq!(parse(text.as_bytes()).expect("a session").name, "first");
}

#[test]
fn parser_refuses_files_over_10_mib() {
    let mut bytes = good().to_string().into_bytes();
    bytes.resize(10_485_760, b' ');
    assert!(parse(&bytes).is_ok());
    bytes.push(b' ');
    assert_eq!(parse(&bytes), Err(LoadError::FileTooLarge));
}

#[test]
fn deep_nesting_in_unknown_field_does_not_overflow() {
    let deep = format!("{{\"deep\":{}{},", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let text = good().to_string().replacen('{', &deep, 1);
    assert!(parse(text.as_bytes()).is_ok());
}

#[test]
fn timestamps_parse_like_elixir() {
    // The results of DateTime.from_iso8601/1 in Elixir 1.14.
    let table = [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02 03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.123456789123Z", "2026-01-02T03:04:05.123456Z"),
        ("2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05.5Z"),
        ("2026-01-02T03:04:05+02", "2026-01-02T01:04:05Z"),
        ("2026-01-02T03:04:05+0530", "2026-01-01T21:34:05Z"),
        ("2026-01-02T03:04:05-02:00", "2026-01-02T05:04:05Z"),
        ("2026-01-02T03:04:05+23:59", "2026-01-01T03:05:05Z"),
        ("2026-01-02T03:04:05-0000", "2026-01-02T03:04:05Z"),
    ];
    for (text, utc) in table {
        assert_eq!(instant(text), Some(timestamp(utc)), "{text}");
    }
    for text in [
        "",
        "2026-01-02",
        "2026-01-02T03:04Z",
        "2026-01-02T03:04:05",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05.5",
        "2026-01-02t03:04:05Z",
        "2026-01-02T03:04:05z",
        "2026-01-02T03:04:05-00:00",
        "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05Z[UTC]",
        "2026-01-02T03:04:60Z",
        "2026-01-02T24:00:00Z",
        "2026-02-30T03:04:05Z",
        "20260102T030405Z",
        " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05é",
    ] {
        assert_eq!(instant(text), None, "{text}");
    }
}
