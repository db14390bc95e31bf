//! Links from sessions to the sessions that they continue: one file per briefing of `resume --with`, `links/TOKEN.json`
//! in the state directory.
//!
//! The first line of a briefing has the token. A session continues another one only if its first prompt begins with
//! exactly the line in the file of its token, and rejoin wrote that file for its agent. Text alone is never enough.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::session::{AgentKind, CLOCK_SKEW, Origin, Session};
use crate::system::env::Env;
use crate::system::fsio;

/// The version of the files that this program writes.
const VERSION: u32 = 1;
const MAX_BYTES: u64 = 64 * 1024;
/// The text around the token in the first line, which begins with [`START`].
const BEFORE_TOKEN: &str = " (rejoin ";
const AFTER_TOKEN: char = ')';
pub(crate) const START: &str = "Continues ";
const TOKEN_LENGTH: usize = 16;
/// Number of bytes of a prompt that are searched for the token.
const REACH: usize = 1024;

/// A briefing that was given to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BriefingLink {
    #[serde(default)]
    format_version: u32,
    /// The first line of the briefing.
    line: String,
    /// The agent that received the briefing.
    with: AgentKind,
    at: Timestamp,
    /// The session that the briefing is about.
    #[serde(flatten)]
    origin: Origin,
}

impl BriefingLink {
    /// Makes the link for a briefing on a session; `id` is the session's id as the briefing shows it.
    pub(crate) fn new(session: &Session, id: &str, with: AgentKind, at: Timestamp) -> Self {
        let digest = Sha256::digest(format!("{}:{}:{with}:{}", session.agent, session.id(), at.as_nanosecond()));
        let token: String = digest[..TOKEN_LENGTH / 2].iter().map(|byte| format!("{byte:02x}")).collect();
        let line = format!("{START}{} session {id}{BEFORE_TOKEN}{token}{AFTER_TOKEN}.", session.agent);
        let origin = Origin { agent: session.agent, id: session.id().to_owned() };
        Self { format_version: VERSION, line, with, at, origin }
    }

    /// Returns the first line of the briefing.
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    /// Returns the path of the link's file.
    pub(crate) fn file(&self, env: &Env) -> PathBuf {
        dir(env).join(name(token_in(&self.line).unwrap_or_default()))
    }

    /// Checks whether the first prompt of a session is this briefing.
    fn began(&self, session: &Session) -> bool {
        let copy = session.copy();
        let is_itself = self.origin.agent == session.agent && self.origin.id == session.id();
        let is_earlier =
            copy.created_at.as_ref().is_some_and(|created| self.at.duration_since(created.value) > CLOCK_SKEW);
        let prompt = copy.first_prompt.as_ref().map_or("", |prompt| &*prompt.value);
        let begins = bare(prompt).starts_with(&self.line);
        begins && self.with == session.agent && !is_itself && !is_earlier && !copy.is_planted()
    }
}

/// Returns the directory of the links.
pub(crate) fn dir(env: &Env) -> PathBuf {
    env.state_dir().join("links")
}

/// Returns the session that another one continues. Reads a file only if the first prompt has the form of a briefing.
pub(crate) fn origin_of(session: &Session, dir: &Path) -> Option<Origin> {
    let prompt = &session.copy().first_prompt.as_ref()?.value;
    let token = token_in(bare(prompt))?;
    let bytes = fsio::read_if_present(&dir.join(name(token)), MAX_BYTES).ok()??;
    let link: BriefingLink = serde_json::from_slice(&bytes).ok()?;
    link.began(session).then_some(link.origin)
}

fn name(token: &str) -> String {
    format!("{token}.json")
}

/// Strips the quotation mark that `opencode run` and `kilo run` add before a prompt of several words.
fn bare(prompt: &str) -> &str {
    let prompt = prompt.trim_start();
    prompt.strip_prefix('"').unwrap_or(prompt)
}

/// Returns the token in a text that begins like a briefing.
fn token_in(text: &str) -> Option<&str> {
    let head = text.strip_prefix(START)?;
    let head = &head[..head.floor_char_boundary(REACH)];
    let (_, rest) = head.split_once(BEFORE_TOKEN)?;
    let (token, _) = rest.split_once(AFTER_TOKEN)?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (token.len() == TOKEN_LENGTH && token.bytes().all(is_digit)).then_some(token)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;
    use crate::session::Fact;
    use crate::session::tests::{copy, session};

    const AT: &str = "2026-02-01T12:00:00Z";

    fn began_with(agent: AgentKind, prompt: &str, created: &str) -> Session {
        let mut copy = copy("new");
        copy.first_prompt = Some(Fact::new(prompt.to_owned(), "t"));
        copy.created_at = Some(Fact::new(created.parse::<Timestamp>().expect("a time"), "t"));
        Session { agent, ..session(vec![copy]) }
    }

    #[test]
    fn link_matches_only_session_of_briefed_agent() {
        let dir = tempfile::tempdir().expect("a directory");
        let old = session(vec![copy("old")]);
        let link = BriefingLink::new(&old, "old", AgentKind::Codex, AT.parse().expect("a time"));
        let token = token_in(link.line()).expect("a token");
        let prompt = format!("{}\n\nThis text is a record.", link.line());
        let found = |agent, prompt: &str, created| origin_of(&began_with(agent, prompt, created), dir.path());
        assert_eq!(found(AgentKind::Codex, &prompt, AT), None, "there is no file");
        std::fs::write(dir.path().join(name(token)), serde_json::to_vec(&link).expect("JSON")).expect("a file");

        let origin = Origin { agent: AgentKind::Claude, id: "old".to_owned() };
        assert_eq!(found(AgentKind::Codex, &prompt, AT), Some(origin.clone()));
        assert_eq!(found(AgentKind::Codex, &format!("\n{}", prompt.replace('\n', " ")), AT), Some(origin.clone()));
        assert_eq!(found(AgentKind::Codex, &format!("\"{prompt}\""), AT), Some(origin), "as `opencode run` passes it");
        assert_eq!(found(AgentKind::Codex, &format!("\"\"{prompt}"), AT), None);
        assert_eq!(found(AgentKind::Pi, &prompt, AT), None, "another agent");
        assert_eq!(found(AgentKind::Codex, &prompt, "2026-02-01T11:00:00Z"), None, "it began before the briefing");
        for other in [
            prompt.replace("old", "odd"),
            prompt.replace("claude", "pi"),
            prompt.replace(token, "0123456789abcdef"),
            format!("look: {prompt}"),
            "Continues claude session old (rejoin ../../x).".to_owned(),
            "Continues (rejoin ü".to_owned(),
        ] {
            assert_eq!(found(AgentKind::Codex, &other, AT), None, "{other}");
        }
        let itself = Session { agent: AgentKind::Codex, ..session(vec![copy("old")]) };
        let link = BriefingLink::new(&itself, "old", AgentKind::Codex, AT.parse().expect("a time"));
        assert!(!link.began(&itself));
    }
}
