//! A session as JidoCode's own file: completed, checked by JidoCode's rules, and signed.

use jiff::Timestamp;

use crate::agent::ids::is_random_uuid;
use crate::agent::jido::records::{JidoSession, LoadError, MAX_FILE_BYTES, parse};
use crate::agent::jido::signature::{EncodeError, SignatureCheck, SigningKey, check, sign};
use crate::format::json_text::{self, members};

/// The schema version that is written.
const VERSION: u64 = 1;
/// JidoCode loads a longer name and then refuses to resume the session.
const MAX_NAME: usize = 50;

/// A file that JidoCode loads and resumes.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    /// The session's id, which names the file.
    pub id: String,
    /// The contents.
    pub bytes: Vec<u8>,
}

/// The reason why a session cannot be saved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnsavableJidoSession {
    /// There is no input.
    #[error("standard input is empty")]
    Empty,
    /// JidoCode would not load it.
    #[error(transparent)]
    Refused(#[from] LoadError),
    /// It cannot be signed as JidoCode would.
    #[error("it cannot be signed: {0}")]
    Unsigned(#[from] EncodeError),
    /// The id is not a UUID of version 4, so JidoCode would not find the file.
    #[error("its id {0:?} is not a UUID of version 4")]
    BadId(String),
    /// JidoCode would not resume it.
    #[error("its name must have 1 to {MAX_NAME} characters")]
    BadName,
    /// JidoCode would not resume it.
    #[error("its project_path is not an absolute path")]
    BadPath,
    /// The written signature does not verify.
    #[error("its signature does not verify")]
    DoesNotVerify,
}

/// Adds `version` and `closed_at` to a session that lacks them; the rest of its text stays.
pub(crate) fn complete(input: &[u8], now: Timestamp) -> Result<Vec<u8>, UnsavableJidoSession> {
    if input.trim_ascii().is_empty() {
        return Err(UnsavableJidoSession::Empty);
    }
    if input.len() as u64 > MAX_FILE_BYTES {
        return Err(LoadError::FileTooLarge.into());
    }
    let not_json = |why: String| UnsavableJidoSession::Refused(LoadError::InvalidJson(why));
    let text = str::from_utf8(input).map_err(|error| not_json(error.to_string()))?;
    let start = json_text::check(text).map_err(|error| not_json(error.to_string()))?.start;
    if !text[start..].starts_with('{') {
        return Err(LoadError::NotAMap.into());
    }
    let members = members(text, start);
    let has = |key: &str| members.iter().any(|member| member.key == key);
    let mut added = Vec::new();
    if !has("version") {
        added.push(format!("\"version\":{VERSION}"));
    }
    if !has("closed_at") {
        added.push(format!("\"closed_at\":\"{}\"", now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")));
    }
    let mut added = added.join(",");
    if !added.is_empty() && !members.is_empty() {
        added.push(',');
    }
    Ok([&text[..=start], &added, &text[start + 1..]].concat().into_bytes())
}

/// Checks a session by the rules of JidoCode for loading and resuming one.
pub(crate) fn judge(document: &[u8]) -> Result<JidoSession, UnsavableJidoSession> {
    let session = parse(document)?;
    if !is_random_uuid(&session.id) {
        return Err(UnsavableJidoSession::BadId(session.id));
    }
    if !(1..=MAX_NAME).contains(&session.name.chars().count()) {
        return Err(UnsavableJidoSession::BadName);
    }
    if !session.project_path.starts_with('/') {
        return Err(UnsavableJidoSession::BadPath);
    }
    Ok(session)
}

/// Signs a session, and checks the result by the rules of JidoCode.
pub(crate) fn signed(document: &[u8], key: &SigningKey) -> Result<Signed, UnsavableJidoSession> {
    let bytes = sign(document, key)?;
    let session = judge(&bytes)?;
    match check(&bytes, std::slice::from_ref(key))? {
        SignatureCheck::Valid => Ok(Signed { id: session.id, bytes }),
        _ => Err(UnsavableJidoSession::DoesNotVerify),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::agent::jido::signature::derive_key;

    fn session() -> Value {
        json!({
            "id": "3f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50", "name": "Demo", "project_path": "/p", "config": {},
            "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:04:05Z", "conversation": [], "todos": [],
        })
    }

    fn completed(text: &str) -> Result<String, UnsavableJidoSession> {
        let now = "2026-03-01T12:00:00.5Z".parse().expect("a time");
        complete(text.as_bytes(), now).map(|bytes| String::from_utf8(bytes).expect("UTF-8"))
    }

    #[test]
    fn save_adds_missing_version_and_closing_time() {
        assert_eq!(completed(" {}").expect("JSON"), " {\"version\":1,\"closed_at\":\"2026-03-01T12:00:00.500000Z\"}");
        assert_eq!(
            completed("{\"version\":2,\"x\":1.10}").expect("JSON"),
            "{\"closed_at\":\"2026-03-01T12:00:00.500000Z\",\"version\":2,\"x\":1.10}"
        );
        let whole = "{\"closed_at\":\"x\",\"version\":1}\n";
        assert_eq!(completed(whole).expect("JSON"), whole);
        for (text, expected) in
            [("", "standard input is empty"), ("[]", "not_a_map"), ("{", "invalid_json"), ("{} {}", "invalid_json")]
        {
            let error = completed(text).expect_err("a refusal").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn save_refuses_unresumable_jidocode_session() {
        let judged = |key: &str, value: Value| {
            let mut session = session();
            session[key] = value;
            judge(completed(&session.to_string()).expect("JSON").as_bytes()).map(|session| session.id)
        };
        assert!(judged("name", json!("é".repeat(50))).is_ok());
        for (key, value, expected) in [
            ("name", json!(""), "1 to 50"),
            ("name", json!("x".repeat(51)), "1 to 50"),
            ("project_path", json!("p"), "absolute"),
            ("id", json!("../../x"), "UUID"),
            ("id", json!("3f2b8c1e-6f0d-1c2a-9b7e-5a1d2c3e4f50"), "UUID"),
            ("version", json!(2), "unsupported_version"),
            ("todos", json!(null), "invalid_todos"),
            ("conversation", json!([{"role": "user"}]), "invalid_message"),
        ] {
            let error = judged(key, value).expect_err("a refusal").to_string();
            assert!(error.contains(expected), "{key}: {error}");
        }
    }

    #[test]
    fn saved_session_gets_a_new_valid_signature() {
        let key = derive_key("salt", "secret", "host");
        let mut session = session();
        session["signature"] = json!("old");
        let signed = signed(completed(&session.to_string()).expect("JSON").as_bytes(), &key).expect("a file");
        assert_eq!(signed.id, session["id"]);
        assert_eq!(check(&signed.bytes, std::slice::from_ref(&key)), Ok(SignatureCheck::Valid));
        let changed = String::from_utf8(signed.bytes).expect("UTF-8").replace("Demo", "Demp");
        assert_eq!(check(changed.as_bytes(), &[key]), Ok(SignatureCheck::Wrong));
    }
}
