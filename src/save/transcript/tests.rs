//! Messages as programs pass them, and the resulting lines.

use super::*;

fn written(input: &str, is_lenient: bool) -> Result<(String, MessageCounts), UnwritableMessages> {
    let mut text = Vec::new();
    let mut sink = |line: &[u8]| {
        text.extend_from_slice(line);
        Ok(())
    };
    let counts = TranscriptWriter::new(&mut sink, is_lenient).read(&mut input.as_bytes())?;
    Ok((String::from_utf8(text).expect("UTF-8"), counts))
}

fn text(input: &str) -> String {
    written(input, false).expect("lines").0
}

#[test]
fn json_array_and_lines_give_same_transcript() {
    let expected = "{\"role\": \"user\", \"content\": \"hi\"}\n{\"role\": \"tool\", \"tool_call_id\": \"c\", \"content\": \"a\"}\n";
    assert_eq!(
        text(r#" [{"role":"user","content":"hi"}, {"role":"tool","tool_call_id":"c","content":"a"}] "#),
        expected
    );
    assert_eq!(text(expected), expected);
    assert_eq!(text(&expected.replace('\n', "\r\n\r\n")), expected);
    assert_eq!(text(&format!("\u{feff}{}", expected.trim_end())), expected);
}

#[test]
fn save_omits_system_and_developer_messages() {
    let (text, counts) = written(
        r#"[{"role":"system","content":"x"},{"role":"d\u0065veloper"},{"role":"user","content":"hi"},{"role":7},{}]"#,
        false,
    )
    .expect("lines");
    assert_eq!(text, "{\"role\": \"user\", \"content\": \"hi\"}\n{\"role\": 7}\n{}\n");
    assert_eq!(counts, MessageCounts { messages: 3, left_out: 2, unusable: 0 });
    assert_eq!(written("[]", false).expect("lines").0, "");
}

#[test]
fn save_unescapes_text_and_keeps_numbers() {
    let input = r#"[{"content":"\u65e5\u672c \ud83d\udd27 \u2028 \/ \u001b \"q\" \\ \t","n":1.10,"big":12345678901234567890123}]"#;
    let expected = "{\"content\": \"日本 🔧 \u{2028} / \\u001b \\\"q\\\" \\\\ \\t\", \"n\": 1.10, \"big\": 12345678901234567890123}\n";
    assert_eq!(text(input), expected);
    assert_eq!(text(r#"[{"content":"\ud800 x"}]"#), "{\"content\": \"\\ud800 x\"}\n");
}

#[test]
fn save_omits_null_except_in_content() {
    assert_eq!(
        text(
            r#"[{"role":"assistant","content":null,"name":null,"tool_calls":[null,{"id":"c","x":null,"arguments":{"a":null,"b":[]}}]}]"#
        ),
        "{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"c\", \"arguments\": {\"b\": []}}]}\n"
    );
    assert_eq!(text(r#"[{"role":"assistant"}]"#), "{\"role\": \"assistant\"}\n");
}

#[test]
fn save_keeps_only_text_of_thinking() {
    assert_eq!(
        text(
            r#"[{"role":"assistant","thinking_block":{"type":"thinking","text":"hm","sig":"x"},"content_blocks":[1],"content":"a"}]"#
        ),
        "{\"role\": \"assistant\", \"thinking_text\": \"hm\", \"content\": \"a\"}\n"
    );
    assert_eq!(text(r#"[{"thinking_block":{"sig":"x"},"role":"user"}]"#), "{\"role\": \"user\"}\n");
    assert_eq!(text(r#"[{"thinking_block":7}]"#), "{}\n");
}

#[test]
fn save_truncates_deep_nesting_without_stack_overflow() {
    let deep = |levels: usize| format!("[{{\"x\":{}1{}}}]", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(text(&deep(49)), format!("{{\"x\": {}1{}}}\n", "[".repeat(49), "]".repeat(49)));
    assert_eq!(text(&deep(100_000)), format!("{{\"x\": {}{}}}\n", "[".repeat(50), "]".repeat(50)));
}

#[test]
fn last_duplicate_key_wins() {
    assert_eq!(text(r#"[{"role":"user","content":"a","content":"b"}]"#), "{\"role\": \"user\", \"content\": \"b\"}\n");
}

#[test]
fn save_refuses_incomplete_and_invalid_input() {
    let refused = |input: &str| written(input, false).expect_err("a refusal").to_string();
    assert!(refused(" \n").starts_with("standard input is empty"));
    assert!(refused("[{\"role\":\"user\"}").starts_with("the list of messages is not JSON"));
    assert!(refused("[{\"role\":\"user\"}] x").starts_with("the list of messages is not JSON"));
    assert!(refused("[{\"role\":}]").starts_with("the list of messages is not JSON"));
    assert!(refused("{\"role\":\"user\"}\n{\"rol").starts_with("line 2 is not JSON"));
    assert!(refused("hello").starts_with("line 1 is not JSON"));
    assert_eq!(refused("[{},\"x\"]"), "message 2 is not an object");
    assert_eq!(refused("{}\n[]\n"), "message 2 is not an object");
    let (text, counts) = written("[{},\"x\",[],null]", true).expect("lines");
    assert_eq!((text.as_str(), counts.unusable), ("{}\n", 3));
    assert!(written("{}\n{", true).is_err());
}
