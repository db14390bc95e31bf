//! Tests of valid config files, and of the errors for invalid ones.

use super::*;
use crate::error::Exit;

fn parse(text: &str) -> Result<Config, Refusal> {
    Config::parse(text, Path::new("/c.toml"))
}

#[test]
fn key_list_has_every_config_key() {
    let text = example();
    let config = parse(&text).expect("a sound file");
    let example = |key: &ConfigKey| match key.name {
        "hosts.GROUP" => config.hosts["group"] == ["build1", "ana@box"],
        name => config.setting(name).is_some(),
    };
    for key in KEYS {
        assert!(example(key), "{}\n{text}", key.name);
    }
    let is_listed = |set: &SetKey| set.key == "hosts.group" || KEYS.iter().any(|key| key.name == set.key);
    assert!(config.set_keys.iter().all(is_listed), "{:?}", config.set_keys);
    for said in &config.set_keys {
        let line = text.lines().nth(said.line - 1).unwrap_or_default();
        assert!(line.contains(said.key.rsplit('.').next().unwrap_or_default()), "{said:?} is not in {line:?}");
    }
    assert_eq!((config.list.limit, config.cleanup.keep_last), (Some(50), Some(3)));
    assert_eq!(config.cleanup.keep.len(), 1);
    assert_eq!(config.cleanup.keep[0].agents, [AgentKind::Claude]);
}

#[test]
fn config_error_names_line_and_nearest_key() {
    let cases = [
        ("[list]\n\nlimt = 5", "/c.toml:3: there is no key list.limt", "the nearest key is list.limit"),
        ("[lst]\nlimit = 5", "/c.toml:1: there is no key lst", "the nearest key is list"),
        ("pagr = 'x'", "/c.toml:1: there is no key pagr", "the nearest key is pager"),
        ("# é\nquux = 1", "/c.toml:2: there is no key quux", "run `rejoin help config`"),
        ("[list]\nlimit = 'many'", "/c.toml:2: list.limit must be a number from 0 on, not \"many\"", ""),
        ("[list]\nlimit = -1", "/c.toml:2: list.limit must be a number from 0 on, not -1", ""),
        ("[list]\nagent = ['claud']", "/c.toml:2: list.agent names no agent \"claud\"; the nearest is claude", ""),
        ("[list]\nfields = [1]", "/c.toml:2: list.fields must be a text or a list of texts, not a list", ""),
        ("[list]\nsort = 'x'", "list.sort names no key \"x\"; it is one of active_at, created_at", ""),
        ("[list]\nsince = '3m'", "/c.toml:2: list.since must be an age or a time, not \"3m\"", ""),
        ("[archive]\ndir = 'x'", "/c.toml:2: archive.dir must be a directory that starts with / or ~/", ""),
        ("list = 3", "/c.toml:1: list must be a table, not 3", ""),
        ("[cleanup]\nkeep = 3", "/c.toml:2: cleanup.keep must be a list of tables, [[cleanup.keep]], not 3", ""),
        ("[[cleanup.keep]]\n[[cleanup.keep]]\nlast = 1", "/c.toml:1: this rule says nothing", ""),
        ("[[cleanup.keep]]\nagents = 'x'", "/c.toml:2: there is no key cleanup.keep.agents", "cleanup.keep.agent"),
        ("[[stores]]\nagent = 'codex'", "/c.toml:1: a store needs an agent and a home", ""),
        ("[[stores]]\nagent = 'codx'\nhome = '~/.code'", "/c.toml:2: stores.agent names no agent \"codx\"", ""),
        ("[[stores]]\nagent = 'codex'\nhome = 'x'", "stores.home must be a directory that starts with / or ~/", ""),
        (
            "[[stores]]\nagent = 'codex'\nhome = '/x'\nprogram = 'a b'",
            "stores.program must be the name or the path",
            "",
        ),
        ("[[stores]]\nagent = 'codex'\nhome = '/x'\nvariables = 3", "stores.variables must be a table, not 3", ""),
        ("[hosts]\nall = ['a', '-oProxyCommand=x']", "/c.toml:2: hosts.all names no host: \"-oProxyCommand=x\"", ""),
        ("[hosts]\nall = ['a b']", "/c.toml:2: hosts.all names no host", ""),
        ("a = \nb = 1", "/c.toml:1: not valid TOML: ", ""),
        ("pager = 'a'\npager = 'b'", "/c.toml:2: not valid TOML: duplicate key", ""),
    ];
    for (text, message, hint) in cases {
        let refusal = parse(text).expect_err(text);
        assert!(refusal.message.contains(message), "{text}\n{}", refusal.message);
        assert!(refusal.hint.as_deref().is_some_and(|shown| shown.contains(hint)), "{text}\n{:?}", refusal.hint);
        assert_eq!((refusal.exit, refusal.code), (Exit::Usage, RefusalCode::BadConfig));
    }
}

#[test]
fn config_of_other_home_has_fewer_keys() {
    let config = parse(&example()).expect("a sound file").of_another_home();
    assert!(config.pager.is_none() && config.archive_dir.is_none());
    assert!(config.hosts.is_empty() && config.stores.is_empty());
    assert_eq!(config.cleanup.keep.len(), 1);
    assert!(config.set_keys.iter().all(|set| set.key.starts_with("list.") || set.key.starts_with("cleanup.")));
}

#[test]
fn parser_accepts_empty_file_and_refuses_deep_nesting() {
    for text in ["", "\u{feff}[list]\nlimit = 1", "[list]\r\nlimit = 1\r\n", "[list]", "[[cleanup.keep]]\nlast = 2"] {
        assert!(parse(text).is_ok(), "{text:?}");
    }
    let deep = format!("pager = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse(&deep).is_err());
}
