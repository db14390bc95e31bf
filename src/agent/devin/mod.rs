//! Devin CLI: `sessions.db`, which is only read: rows of `sessions`, and their messages in `message_nodes`.
//!
//! Facts: read in kenn-io/agentsview 53860074 internal/parser/devin.go and devin_test.go; never measured. Its program has
//! no public code. A message names a parent, and `main_chain_id` of a session is the end of the conversation that a resume
//! continues; messages on other chains were given up (jazzyalex/agent-sessions #56, 253 sessions of 3000.3.27).

pub(super) mod about;

use super::{AgentManaged, stores};
use crate::agent::database::{self, Database, MAX_BYTES, Queries, Schema, TableSql};
use crate::agent::prelude::*;
use crate::format::content::{blocks, plain_text, tool_calls};
use crate::format::sqlite::{Db, DbRow, QueryError};
use crate::format::turn::instant;

const MACOS: &str = "Library/Application Support/devin";
/// The folder of the program `devin-next` next to that of `devin` (nowledge-co/community #531).
const NEXT: &str = "cli-next";

/// The columns of a session. The second one should be the parent, for which no column is known.
const SESSION: &[&str] =
    &["id", "-", "working_directory", "title", "model", "created_at", "last_activity_at", "hidden"];

/// The rows that belong to a session. No command that removes one is known.
const AGENT_MANAGED: AgentManaged = AgentManaged::of_sessions(&["devin"], false);

const DATABASE: Database = Database { schema: &DevinSchema, agent_managed: &AGENT_MANAGED, locate };

/// Implements [`Agent`](super::Agent) for Devin CLI.
pub(super) struct Devin;

/// The only known schema of Devin CLI.
struct DevinSchema;

impl Schema for DevinSchema {
    fn queries<'db>(&self, db: &'db Db) -> Result<Queries<'db>, QueryError> {
        db.require("sessions", &["id"])?;
        db.require("message_nodes", &["row_id", "session_id", "chat_message", "created_at"])?;
        let sql = TableSql {
            sessions: "sessions",
            columns: SESSION,
            computed: &[],
            messages: "message_nodes",
            order: &["created_at", "row_id"],
            turn: format!(
                "SELECT CASE WHEN octet_length(chat_message) <= {MAX_BYTES} THEN chat_message END, created_at \
                 FROM message_nodes WHERE rowid = CAST(?1 AS INTEGER)"
            ),
            sizes: &[("message_nodes", "chat_message")],
            time: "created_at",
            says_last_use: false,
            taken_back: None,
        };
        Queries::of_table(db, &sql, None)
    }

    fn parents(&self, db: &Db) -> Result<Option<String>, QueryError> {
        let (nodes, sessions) = (db.columns("message_nodes")?, db.columns("sessions")?);
        let has_all =
            nodes.contains("node_id") && nodes.contains("parent_node_id") && sessions.contains("main_chain_id");
        Ok(has_all.then(|| {
            "SELECT n.rowid, CAST(n.node_id AS TEXT), CAST(n.parent_node_id AS TEXT), n.node_id = s.main_chain_id \
             FROM message_nodes AS n JOIN sessions AS s ON s.id = n.session_id WHERE n.session_id = ?1 AND n.node_id IS NOT NULL"
                .to_owned()
        }))
    }

    fn fill(&self, row: &DbRow<'_>, copy: &mut SessionCopy) {
        copy.set_dir(row.text(2).as_deref(), "working_directory in the database");
        copy.title = row.filled(3).map(|title| Fact::new(title, "title"));
        copy.model = row.filled(4).map(|model| Fact::new(model, "session"));
        copy.created_at = row.int(5).and_then(instant).map(|at| Fact::new(at, "created_at"));
        let used = row.int(6).and_then(instant).map(|at| Fact::new(at, "last_activity_at"));
        copy.active_at = used.or_else(|| copy.created_at.clone());
        if row.int(7) == Some(1) {
            copy.kind = SessionKind::Archived;
            copy.notes.push("Devin CLI hides it".to_owned());
        }
    }

    fn add(&self, row: &DbRow<'_>, turn: &mut Option<Turn>) {
        let message = row.text(0).unwrap_or_default();
        let at = row.int(1).and_then(instant);
        *turn = Some(serde_json::from_str(&message).map_or_else(|_| Turn::new(Role::System, at), |raw| read(raw, at)));
    }
}

/// Creates a turn from a message.
fn read(message: &RawValue, at: Option<Timestamp>) -> Turn {
    let [role, content, calls] = members(Some(message), ["role", "content", "tool_calls"]);
    let role = match inner::<Text<'_>>(role).get() {
        Some("user") => Role::User,
        Some("assistant" | "agent") => Role::Assistant,
        Some("tool") => Role::Tool,
        _ => Role::System,
    };
    let mut turn = Turn::new(role, at);
    if role == Role::Tool {
        turn.tool(format!("→ {}", plain_text(content)));
        return turn;
    }
    turn.messages.extend(blocks(content).into_iter().filter_map(|block| block.message(role, at)));
    turn.messages.retain(|message| !message.text.trim().is_empty());
    tool_calls(calls).into_iter().for_each(|call| turn.tool(call));
    turn
}

impl Reading for Devin {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        let usual = stores::selected_stores(AgentKind::Devin, env);
        let next = usual.iter().map(|store| store.root.with_file_name(NEXT));
        let others =
            next.chain(["cli", NEXT].map(|name| env.home.join(MACOS).join(name))).filter(|root| is_there(root));
        let others = others.map(|root| {
            let program = root.ends_with(NEXT).then(|| "devin-next".into());
            Store { is_default: false, program, ..Store::usual(AgentKind::Devin, root) }
        });
        let others: Vec<Store> = others.collect();
        usual.into_iter().chain(others).collect()
    }

    fn engine(&self) -> &'static dyn Engine {
        &DATABASE
    }
}

impl Resuming for Devin {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        refuse_prompt(
            prompt,
            "it is not known how Devin CLI answers one prompt in a session; resume it without --prompt",
        )?;
        Ok(Command::new(&["devin", "--resume", &copy.place.id], Vec::new()))
    }
}

impl Moving for Devin {}

impl Housekeeping for Devin {
    fn find_belongings(&self, _place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        Err("it is in Devin CLI's database, and no command that removes it is known".into())
    }
}

fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
    let mut found = Found::default();
    database::locate(store, &store.root.join("sessions.db"), &DevinSchema, only, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_accepts_every_message_format() {
        let parsed = |message: &str| {
            let turn = read(serde_json::from_str(message).expect("JSON"), None);
            (turn.prompt().map(str::to_owned), turn.is_reply(), turn.messages.len())
        };
        assert_eq!(parsed(r#"{"role":"user","content":"a"}"#), (Some("a".to_owned()), false, 1));
        assert_eq!(parsed(r#"{"role":"agent","content":[{"type":"text","text":"b"}]}"#), (None, true, 1));
        let call = r#"{"role":"assistant","content":"","tool_calls":[{"id":"1","function":{"name":"exec","arguments":"{}"}}]}"#;
        assert_eq!(parsed(call), (None, true, 1));
        assert_eq!(parsed(r#"{"role":"tool","tool_call_id":"1","content":"c"}"#), (None, false, 1));
        assert_eq!(parsed(r#"{"role":"oracle","content":"d"}"#), (None, false, 1));
        assert_eq!(parsed("[]"), (None, false, 0));
    }
}
