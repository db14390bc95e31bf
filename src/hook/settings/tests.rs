//! Settings of every layout, with the hooks added and removed again.

use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::*;

const COMMAND: &str = "rejoin hook claude";

fn with_hooks(text: &str) -> String {
    install(Some(text), COMMAND).expect("settings")
}

/// Adds the hooks and removes them; checks the text in between.
fn there_and_back(text: &str) -> String {
    let with = with_hooks(text);
    assert_eq!(installed(&with).expect("settings").len(), EVENTS.len(), "{with}");
    assert_eq!(with_hooks(&with), with, "a second time changes nothing");
    let Without::Text(without) = uninstall(&with).expect("settings") else { panic!("{text} was taken for ours") };
    without
}

#[test]
fn uninstall_removes_file_created_by_install() {
    let text = install(None, COMMAND).expect("settings");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let call = json!([{"type": "command", "command": COMMAND, "timeout": 5}]);
    assert_eq!(
        value,
        json!({"hooks": {
            "PostToolUse": [{"matcher": "Bash", "hooks": call}],
            "CwdChanged": [{"hooks": call}],
            "PreCompact": [{"hooks": call}],
            "SessionStart": [{"matcher": "compact", "hooks": call}],
            "SessionEnd": [{"hooks": call}],
        }})
    );
    assert_eq!(
        text,
        serde_json::to_string_pretty(
            &serde_json::from_str::<indexmap::IndexMap<String, Ordered>>(&text).expect("JSON")
        )
        .expect("JSON")
            + "\n"
    );
    assert_eq!(uninstall(&text), Ok(Without::Nothing));
    assert_eq!(with_hooks(&text), text);
}

/// JSON that keeps the order of its keys.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum Ordered {
    Object(indexmap::IndexMap<String, Ordered>),
    List(Vec<Ordered>),
    Other(Value),
}

#[test]
fn uninstall_restores_the_text_in_every_layout() {
    for text in [
        "{}",
        "{ }\n",
        "{\n}\n",
        "{}\r\n",
        "\u{feff}{\"model\": \"m\"}",
        "{\"model\":\"m\"}",
        "{ \"model\" : \"m\" }\n",
        "{\n  \"model\": \"m\"\n}",
        "{\n\t\"model\": \"m\",\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}\n",
        "{\r\n    \"n\": 1.10,\r\n    \"hooks\": {}\r\n}\r\n",
        "{\"hooks\":{}}",
        "{\"hooks\":{ }}",
        "{\"hooks\":{\n}}",
        "{\"hooks\":{\"PostToolUse\":[]}}",
        "{\"hooks\":{\"SessionEnd\":[ ],\"PreCompact\":[\n]}}",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}}",
        "{\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\"matcher\": \"Edit\", \"hooks\": [ {\"type\":\"command\",\"command\":\"fmt\"} ]}\n      ,\n      {}\n    ],\n    \"SessionEnd\" : [ ]\n  } ,\n  \"model\": \"m\"   }\n\n",
    ] {
        assert_eq!(there_and_back(text), text);
    }
}

#[test]
fn install_adds_hooks_after_existing_entries() {
    let text = "{\n\t\"a\": 1.10,\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t\t\"SessionEnd\": [\n\t\t\t{\"hooks\": []}\n\t\t]\n\t},\n\t\"z\": 2\n}\n";
    let with = with_hooks(text);
    assert!(with.starts_with("{\n\t\"a\": 1.10,\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t\t\"SessionEnd\": [\n\t\t\t{\"hooks\": []},\n\t\t\t{\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n"), "{with}");
    assert!(with.ends_with("\n\t\t]\n\t},\n\t\"z\": 2\n}\n"), "{with}");
    assert!(with.contains("\n\t\t],\n\t\t\"PostToolUse\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"Bash\",\n"), "{with}");
    assert!(!with.contains("  "), "{with}");
}

#[test]
fn install_keeps_single_line_and_crlf() {
    let with = with_hooks("{\"model\":\"m\"}\n");
    assert_eq!(with.matches('\n').count(), 1, "{with}");
    let with = with_hooks("{\r\n  \"model\": \"m\"\r\n}\r\n");
    assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
}

#[test]
fn uninstall_keeps_later_changes_of_other_programs() {
    let value: Value = serde_json::from_str(&with_hooks("{\"model\": \"m\"}")).expect("JSON");
    let mut value = value;
    value["hooks"]["PostToolUse"]
        .as_array_mut()
        .expect("a list")
        .insert(0, json!({"hooks": [{"type": "command", "command": "x"}]}));
    value["hooks"]["PreCompact"][0]["hooks"]
        .as_array_mut()
        .expect("a list")
        .push(json!({"type": "command", "command": "y"}));
    value["extra"] = json!(true);
    for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("JSON")] {
        let Ok(Without::Text(without)) = uninstall(&text) else { panic!("nothing was left of {text}") };
        let without: Value = serde_json::from_str(&without).expect("JSON");
        assert_eq!(without["extra"], true);
        assert_eq!(without["model"], "m");
        assert_eq!(without["hooks"]["PostToolUse"], json!([{"hooks": [{"type": "command", "command": "x"}]}]));
        assert_eq!(without["hooks"]["PreCompact"], json!([{"hooks": [{"type": "command", "command": "y"}]}]));
    }
}

#[test]
fn install_updates_a_command_with_another_path() {
    let settings = |call: Value| json!({"hooks": {"PreCompact": [{"hooks": [call]}]}}).to_string();
    for command in ["rejoin hook claude", " /usr/bin/rejoin hook claude ", "'/o p/rejoin' hook claude"] {
        let text = settings(json!({"type": "command", "command": command}));
        assert_eq!(installed(&text), Ok(vec!["PreCompact"]), "{command}");
        let with = with_hooks(&text);
        assert_eq!(with.matches(COMMAND).count(), EVENTS.len(), "{with}");
        assert!(!with.contains("/rejoin"), "{with}");
    }
    let apart = settings(json!({"type": "command", "command": "/usr/bin/rejoin", "args": ["hook", "claude"]}));
    assert_eq!(installed(&apart), Ok(vec!["PreCompact"]));
    assert!(with_hooks(&apart).contains("/usr/bin/rejoin"));
    for command in [
        "rejoin hook amplifier",
        "my-rejoin hook claude",
        "rejoin list",
        "rejoinhook claude",
        "echo rejoin hook claude",
    ] {
        assert_eq!(installed(&settings(json!({"type": "command", "command": command}))), Ok(vec![]), "{command}");
    }
}

#[test]
fn install_refuses_settings_it_cannot_parse() {
    let refused = |text: &str| install(Some(text), COMMAND).expect_err("a refusal").to_string();
    assert_eq!(refused(" \n"), "it is empty, which is not JSON");
    assert!(refused("{\"a\": 1,}").starts_with("it is not JSON"));
    assert!(refused("{} // mine").starts_with("it is not JSON"));
    assert_eq!(refused("[]"), "its outermost value is not an object");
    assert_eq!(refused("{\"hooks\": null}"), "its hooks is not an object");
    assert_eq!(refused("{\"hooks\": {\"SessionEnd\": {}}}"), "its SessionEnd is not a list");
    assert_eq!(refused("{\"hooks\": {}, \"h\\u006foks\": {}}"), "it has the key hooks twice");
    assert_eq!(refused("{\"hooks\": {\"PreCompact\": [], \"PreCompact\": []}}"), "it has the key PreCompact twice");
    // Odd parts elsewhere are ignored.
    assert_eq!(
        there_and_back("{\"hooks\":{\"Stop\":7,\"PreCompact\":[null,{\"hooks\":7},{\"hooks\":[1,{\"command\":[]}]}]}}"),
        "{\"hooks\":{\"Stop\":7,\"PreCompact\":[null,{\"hooks\":7},{\"hooks\":[1,{\"command\":[]}]}]}}"
    );
    assert!(
        are_disabled("{\"disableAllHooks\": true}")
            && !are_disabled("{\"disableAllHooks\": false}")
            && !are_disabled("{")
    );
}

/// White space of any kind.
fn blanks() -> impl Strategy<Value = String> {
    prop::string::string_regex("[ \t\r\n]{0,4}").expect("a pattern")
}

/// Parts between brackets, with any white space that JSON allows.
fn between(brackets: &'static str, part: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let part = (blanks(), part, blanks()).prop_map(|(before, part, behind)| format!("{before}{part}{behind}"));
    (prop::collection::vec(part, 0..4), blanks()).prop_map(move |(parts, blanks)| {
        let (open, close) = brackets.split_at(1);
        let inner = if parts.is_empty() { blanks } else { parts.join(",") };
        format!("{open}{inner}{close}")
    })
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("-1.50e3".to_owned()),
        any::<String>().prop_map(|text| Value::from(text).to_string())
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let member = ("[a-z]{1,3}", blanks(), inner.clone())
            .prop_map(|(key, blanks, value)| format!("\"{key}\"{blanks}:{value}"));
        prop_oneof![between("[]", inner), between("{}", member)]
    })
}

#[test]
fn install_updates_thousands_of_calls_quickly() {
    let call = |program: &str| format!("{{\"command\":\"{program} hook claude\"}}");
    let calls: Vec<String> = (0..20_000).map(|_| call("/old/rejoin")).collect();
    let groups: Vec<String> = (0..20_000).map(|_| format!("{{\"hooks\":[{}]}}", call("/old/rejoin"))).collect();
    let text = format!(
        "{{\"hooks\":{{\"PreCompact\":[{{\"hooks\":[{}]}}],\"SessionEnd\":[{},{{}}]}}}}",
        calls.join(","),
        groups.join(",")
    );
    let start = std::time::Instant::now();
    let with = with_hooks(&text);
    assert!(!with.contains("/old/") && with.matches(COMMAND).count() == 40_003, "one more for each other event");
    assert_eq!(uninstall(&text), Ok(Without::Text("{\"hooks\":{\"PreCompact\":[],\"SessionEnd\":[{}]}}".to_owned())));
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
}

proptest! {
    #[test]
    fn any_settings_come_back_byte_for_byte(
        others in prop::collection::vec(("[a-z]{1,3}", value(), blanks(), blanks()), 0..3),
        events in prop::option::of(prop::collection::vec(between("[]", value()), 0..6)),
        (b1, b2, b3, b4, at) in (blanks(), blanks(), blanks(), blanks(), 0..3_usize),
    ) {
        let mut parts: Vec<String> =
            others.into_iter().map(|(key, value, before, behind)| format!("{before}\"{key}\":{value}{behind}")).collect();
        if let Some(lists) = events {
            let names = ["Stop", "SessionEnd", "PostToolUse", "CwdChanged", "PreCompact", "SessionStart"];
            let lists: Vec<_> = lists.iter().zip(names).map(|(list, name)| format!("{b1}\"{name}\":{b2}{list}{b3}")).collect();
            let inner = if lists.is_empty() { b4.clone() } else { lists.join(",") };
            let at = at.min(parts.len());
            parts.insert(at, format!("{b2}\"hooks\"{b3}:{b1}{{{inner}}}{b4}"));
        }
        let inner = if parts.is_empty() { b3.clone() } else { parts.join(",") };
        let text = format!("{b1}{{{inner}}}{b2}");
        let with = with_hooks(&text);
        let value: Value = serde_json::from_str(&with).expect("JSON");
        for (event, _) in EVENTS {
            let list = value["hooks"][event].as_array().expect("a list");
            prop_assert_eq!(&list.last().expect("a group")["hooks"][0]["command"], COMMAND);
        }
        prop_assert_eq!(uninstall(&with), Ok(Without::Text(text)));
    }
}
