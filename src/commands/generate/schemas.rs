//! JSON schemas of the answers, and the column definitions derived from them.

use schemars::{Schema, schema_for};
use strum::VariantArray as _;

use crate::archive::verify::Verdict;
use crate::session::Message;
use crate::view::render::answer::document_schema;
use crate::view::render::columns::Engine;
use crate::view::render::{archive, config, hook, hosts, json, list, relocate, search, stats, stores, trash, undo};

/// Lists the answers that have a schema.
pub(super) fn names() -> Vec<String> {
    schemas().map(|(name, ..)| name.to_owned()).to_vec()
}

/// Lists the engines that have columns.
pub(super) fn engines() -> Vec<String> {
    Engine::VARIANTS.iter().map(|engine| engine.name().to_owned()).collect()
}

/// Returns the schema of an answer.
pub(super) fn schema(name: &str) -> anyhow::Result<String> {
    let schema = schemas().into_iter().find(|(known, ..)| *known == name);
    let schema = schema.map(|(_, kind, fields)| document_schema(kind, fields));
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// Returns the table definition for the sessions of many machines in an engine.
pub(super) fn columns(name: &str) -> anyhow::Result<String> {
    let schema = serde_json::to_value(schema_for!(list::SessionListJson<'_>))?;
    let engine = Engine::VARIANTS.iter().find(|engine| engine.name() == name);
    let comment = "-- Made by `.ci/generate` from the JSON schema of `rejoin list --json`.\n";
    Ok(engine.map(|engine| format!("{comment}{}", engine.sessions(&schema))).unwrap_or_default())
}

/// Returns each answer's name, its kinds and its own fields.
fn schemas() -> [(&'static str, &'static str, Schema); 20] {
    type Messages = Option<Vec<Message>>;
    [
        ("session-list", "`session-list`.", schema_for!(list::SessionListJson<'_>)),
        ("agent-list", "`agent-list`.", schema_for!(stores::Agents)),
        ("stats", "`stats`.", schema_for!(stats::Stats)),
        ("session", "`session`.", schema_for!(json::SessionDetailsJson<'_, Messages>)),
        ("search", "`search`.", schema_for!(search::SearchJson<'_>)),
        ("resume-plan", "`resume-plan`.", schema_for!(json::ResumePlanJson<'_>)),
        ("last-launch", "`last-launch`.", schema_for!(json::LastLaunchJson<'_>)),
        ("run-list", "`run-list`.", schema_for!(undo::RunListJson<'_>)),
        ("trash-list", "`trash-list`.", schema_for!(trash::TrashListJson<'_>)),
        ("doctor", "`doctor-report`.", schema_for!(json::doctor::DoctorJson<'_>)),
        ("doctor-checks", "`doctor-checks`.", schema_for!(json::doctor::ChecksJson)),
        ("move-map", "`move-map`.", schema_for!(relocate::MoveMap)),
        ("change", "`change-plan` for a dry run, else `change-outcome`.", schema_for!(json::change::ChangeJson<'_>)),
        ("archive-list", "`archive-list`.", schema_for!(archive::ArchiveListJson<'_>)),
        ("archive-verify", "`archive-verify`.", schema_for!(Verdict)),
        ("archived-session", "`archived-session`.", schema_for!(archive::ArchivedSessionJson<'_, Messages>)),
        ("config", "`config`.", schema_for!(config::Holding)),
        ("hook-status", "`hook-status`.", schema_for!(hook::HookStatusJson)),
        ("host-answers", "`host-answers`.", schema_for!(hosts::HostAnswersJson)),
        ("error", "`error`.", schema_for!(json::ErrorJson<'_>)),
    ]
}
