//! `rejoin config`, and the config file for other commands.

use crate::archive::Archive;
use crate::cli::{Format, FormatArgs, ListArgs};
use crate::config::{Config, ConfigKey, KEYS, SetKey, in_words};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::{command_line, shell};
use crate::launch::briefings;
use crate::system::env::Env;
use crate::system::trusted_file::{self, UntrustedReason};
use crate::view::render::config::{Holding, Setting, SettingSource};
use crate::view::ui::Ui;

/// Maximum size of a file that is written by hand.
const MAX_BYTES: u64 = 256 * 1024;

/// Shows the settings, and the source of each.
pub(crate) fn run(format: &FormatArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let mut settings = Vec::new();
    for key in KEYS.iter().filter(|key| !key.is_for_many()) {
        settings.push(setting(key, env));
    }
    let many = env.config.set_keys.iter().filter(|set| KEYS.iter().all(|key| key.name != set.key || key.is_for_many()));
    settings.extend(many.map(from_file));
    let file = env.config_file();
    let exists = env.config.file.is_some();
    ui.answer(*format, env, &Holding { exists, file, settings, briefings: briefings::dir(env) })?;
    Ok(Exit::Ok)
}

fn from_file(set: &SetKey) -> Setting {
    let words = in_words(&set.value);
    Setting { key: set.key.clone(), value: set.value.clone(), words, source: SettingSource::File, line: Some(set.line) }
}

fn setting(key: &ConfigKey, env: &Env) -> Setting {
    let text = |text: String, source| Setting {
        key: key.name.to_owned(),
        value: text.clone().into(),
        words: text,
        source,
        line: None,
    };
    let pager = env.variable("PAGER").filter(|_| key.name == "pager");
    match (pager, env.config.setting(key.name)) {
        (Some(pager), _) => text(pager.to_string_lossy().into_owned(), SettingSource::Environment),
        (None, Some(set)) => from_file(set),
        _ if key.name == "archive.dir" => {
            text(Archive::default_dir(env).to_string_lossy().into_owned(), SettingSource::Default)
        }
        _ => {
            Setting { value: key.default().unwrap_or_default(), ..text(key.default_in_words(), SettingSource::Default) }
        }
    }
}

/// Reads the config file.
pub(crate) fn read(env: &Env) -> anyhow::Result<Config> {
    let file = env.config_file();
    let unsafe_file = |message: String, hint: String| Refusal::new(RefusalCode::UnsafeConfig, message).hint(hint);
    let bytes = match trusted_file::read(&file, MAX_BYTES, env.foreign_home) {
        Ok(None) => return Ok(Config::default()),
        Ok(Some(bytes)) => bytes,
        Err(UntrustedReason::Writable(path)) => {
            let hint =
                format!("run `chmod go-w {}`, or use --no-config this time", shell::word(&path.to_string_lossy()));
            return Err(unsafe_file(UntrustedReason::Writable(path).to_string(), hint).into());
        }
        Err(unread) => {
            return Err(unsafe_file(unread.to_string(), "use --no-config to do without it".to_owned()).into());
        }
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count() - 1;
        Refusal::new(RefusalCode::BadConfig, format!("{}:{line}: this is not UTF-8", file.display()))
    })?;
    let config = Config::parse(&text, &file)?;
    Ok(if env.foreign_home { config.of_another_home() } else { config })
}

/// Adds the config file's settings for a table of sessions, and returns a note on the filters that it adds. Output to a
/// pipe does not depend on the file.
pub(super) fn list(args: &ListArgs, env: &Env) -> (ListArgs, Option<String>) {
    let (mut args, config) = (args.clone(), &env.config.list);
    if args.format.for_list(env.terminal.stdout) != Format::Table {
        return (args, None);
    }
    args.limit = args.limit.or(config.limit);
    args.sort = args.sort.or(config.sort);
    args.wide |= config.is_wide;
    if args.fields.is_empty() && !args.running {
        args.fields.clone_from(&config.fields);
    }
    let mut added = Vec::new();
    let has_words = args.has_words();
    let filter = &mut args.filter;
    // A search for words has no time limit: the session may be old.
    if !has_words && filter.since.is_none() && filter.older_than.is_none() && config.since.is_some() {
        filter.since = config.since;
        added.push("list.since");
    }
    let agents = &mut filter.place.agents.agent;
    if !has_words && agents.is_empty() && !config.agents.is_empty() {
        agents.clone_from(&config.agents);
        added.push("list.agent");
    }
    let clauses: Vec<String> =
        added.into_iter().filter_map(|key| env.config.setting(key)).map(SetKey::to_string).collect();
    let note = (!clauses.is_empty()).then(|| {
        let all = command_line::again(env, &[], &["--no-config"]);
        format!("{} sets {}. `{all}` lists without.", env.tilde(&env.config_file()), clauses.join(", "))
    });
    (args, note)
}
