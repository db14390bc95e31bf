//! The names that nearly every agent imports, for `use crate::agent::prelude::*`.

pub(super) use std::ops::ControlFlow;
pub(super) use std::path::{Path, PathBuf};
pub(super) use std::sync::Arc;

pub(super) use jiff::Timestamp;
pub(super) use jiff::tz::TimeZone;
pub(super) use serde::Deserialize;
pub(super) use serde_json::value::RawValue;

pub(super) use super::about::About;
pub(super) use super::command::{Command, NewSession, refuse_invalid, refuse_prompt, refuse_subagent};
pub(super) use super::context::{ReadContext, StoreNotes, decide_launch_dir};
pub(super) use super::engine::Engine;
pub(super) use super::found::Found;
pub(super) use super::housekeeping::{Housekeeping, own_files};
pub(super) use super::listing::{Listings, is_there};
pub(super) use super::log_places::LogPlaces;
pub(super) use super::moving::{Moving, brief_elsewhere, counts, encodes, refuse_other_dir, relocate_unless_back};
pub(super) use super::observers::Observers;
pub(super) use super::reading::Reading;
pub(super) use super::relocation::{Act, Moved, Relocation, StoreMove, small};
pub(super) use super::resuming::Resuming;
pub(super) use super::small_file::{read_or_note, read_or_report};
pub(super) use super::unable::Unable;
pub(super) use super::usage::UsageAt;
pub(super) use crate::error::PathError;
pub(super) use crate::format::json::{Flag, Text, inner, member, members, text_in, texts_in};
pub(super) use crate::format::turn::Turn;
pub(super) use crate::session::usage::Usage;
pub(super) use crate::session::{
    AgentKind, Belongings, Evidence, Fact, Health, Liveness, Located, Message, Role, SessionCopy, SessionKind, Store,
    Visitor, evidence, recorded,
};
pub(super) use crate::system::env::Env;
pub(super) use crate::system::{fsio, links, parallel, reach};
