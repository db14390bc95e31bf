//! Settings of a cleanup: the options, and the additions of the config file.

use jiff::ToSpan as _;

use crate::change::plan::retention::{Policy, Rule};
use crate::cli::CleanupArgs;
use crate::config::{KeepRule, in_words};
use crate::session::select::Filter;
use crate::session::when::When;
use crate::system::env::{Clock, Env};

/// Default age from which sessions are removed, in days.
const DEFAULT_DAYS: i32 = 30;
/// Default time that removed files stay in the trash, in days.
const TRASH_DAYS: i32 = 14;

/// The options combined with the config file.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    /// The options as they were typed.
    pub args: &'a CleanupArgs,
    /// Decides which sessions go.
    pub policy: Policy,
    /// The sessions that each rule of the policy keeps.
    pub rules: Vec<Filter>,
    /// Set to archive everything before it is removed.
    pub archives: bool,
    /// Age from which the trash is purged.
    pub trash_keep: When,
    /// Names the options that the config file adds.
    pub note: Option<String>,
}

impl<'a> Settings<'a> {
    /// Reads the config file for options that are not given.
    pub(super) fn of(args: &'a CleanupArgs, env: &Env) -> Self {
        let config = &env.config.cleanup;
        let is_aged = args.max_total.is_none() && !args.any_age;
        let default_age = config.older_than.unwrap_or(When::Ago(DEFAULT_DAYS.days()));
        let age = args.older_than.or_else(|| is_aged.then_some(default_age));
        let policy = Policy {
            now: env.clock.now,
            cutoff: age.map(|age| env.clock.before(age)),
            is_relative: age.is_some_and(When::is_relative),
            keep_last: args.keep_last.or(config.keep_last).unwrap_or_default(),
            rules: config.keep.iter().map(|rule| rule_of(rule, &env.clock)).collect(),
            max_total: args.max_total,
            only_empty: args.empty,
            all: args.any_age,
            takes_unknown_format: args.unknown_format,
        };
        let filter = |rule: &KeepRule| crate::commands::dir_filter(&rule.agents, rule.dir.as_deref(), env);
        Self {
            args,
            policy,
            rules: config.keep.iter().map(filter).collect(),
            archives: args.archive || config.archives,
            trash_keep: args.trash_keep.or(config.trash_keep).unwrap_or(When::Ago(TRASH_DAYS.days())),
            note: note(args, env),
        }
    }
}

/// Converts a rule of the config file.
fn rule_of(rule: &KeepRule, clock: &Clock) -> Rule {
    Rule { since: rule.since.map(|since| clock.before(since)), last: rule.last }
}

/// Names the options that the config file adds.
fn note(args: &CleanupArgs, env: &Env) -> Option<String> {
    let is_aged = args.older_than.is_none() && args.max_total.is_none() && !args.any_age;
    let can_add = [
        ("older-than", is_aged),
        ("keep-last", args.keep_last.is_none()),
        ("trash-keep", args.trash_keep.is_none()),
        ("archive", !args.archive && env.config.cleanup.archives),
    ];
    let file = env.tilde(&env.config_file());
    let added = can_add.iter().filter(|(_, can_add)| *can_add).filter_map(|(option, _)| {
        let said = env.config.said(&format!("cleanup.{option}"))?;
        let value = if *option == "archive" { String::new() } else { format!(" {}", in_words(&said.value)) };
        Some(format!("--{option}{value} from {file}:{}", said.line))
    });
    let added: Vec<String> = added.collect();
    (!added.is_empty()).then(|| format!("The config file adds {}.", added.join(", ")))
}
