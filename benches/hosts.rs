//! The cost of asking many hosts compared with the slowest one: `list --host` of 50 hosts, and a million rows.
//!
//! `cargo bench --bench hosts` replaces ssh with a program that waits like a host and then writes rows; the slowest
//! host takes a second and a half. Without `--bench`, three small hosts are run once as a test.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a benchmark lays out its own files and prints what it found"
)]

use std::fmt::Write as _;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The replacement for ssh: the last host is the slowest.
const SSH: &str = r#"#!/bin/sh
for word in "$@"; do case $word in h[0-9]*) host=$word; break;; esac; done
echo 'rejoin answers'
sleep 1.$(printf %02d "${host#h}")
exec cat "@DIR@/rows-$host"
"#;

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| args.iter().any(|arg| arg == name);
    if has("--list") {
        return Ok(());
    }
    let (hosts, sizes, times): (_, &[usize], _) = if has("--bench") { (50, &[200, 20_000], 5) } else { (3, &[10], 1) };
    println!("hosts    rows  slowest alone    all  ratio      peak  target");
    for rows in sizes {
        let dir = tempfile::tempdir()?;
        lay_out(dir.path(), hosts, *rows)?;
        let all: Vec<String> = (0..hosts).map(|host| format!("h{host}")).collect();
        let mut pairs = Vec::new();
        for _ in 0..times {
            let alone = run(dir.path(), &all[hosts - 1], *rows)?;
            pairs.push((alone.0, run(dir.path(), &all.join(","), rows * hosts)?));
        }
        pairs.sort_unstable_by_key(|(_, (time, _))| *time);
        let (alone, (time, peak)) = pairs[pairs.len() / 2];
        let ratio = time.as_secs_f64() / alone.as_secs_f64();
        let rows = rows * hosts;
        let [alone, time] = [alone, time].map(|time| time.as_secs_f64());
        println!("{hosts:5} {rows:7} {alone:12.2} s {time:4.2} s  {ratio:5.2} {:5} MiB  <= 64 MiB", peak / 1024);
    }
    println!("target of the ratio where the hosts' rows are few: <= 1.20");
    Ok(())
}

/// Writes the rows of each host, the newest first, and the program in place of ssh.
fn lay_out(dir: &Path, hosts: usize, rows: usize) -> io::Result<()> {
    for host in 0..hosts {
        let mut text = "{\"format_version\":\"1.0\",\"kind\":\"session-list\"}\n".to_owned();
        for row in (0..rows).rev() {
            let (day, minute) = (1 + row / 1440 % 28, row % 1440);
            let at = format!("2026-02-{day:02}T{:02}:{:02}:{:02}Z", minute / 60, minute % 60, host % 60);
            let id = format!("{row:08}-aaaa-4aaa-8aaa-{host:012}");
            let (title, path) = ("Look into the failing test and repair what it finds", "/home/ana/work/shop");
            let _ = writeln!(
                text,
                r#"{{"agent":"claude","id":"{id}","kind":"main","title":"{title}","first_prompt":"{title}","launch_dir":{{"path":"{path}","path_bytes_base64":null,"source":"transcript","exists":true}},"start_dir":"{path}","last_dir":"{path}","project":"-home-ana-work-shop","created_at":"{at}","active_at":"{at}","active_source":"transcript","size_bytes":20480,"prompts":null,"replies":null,"model":"large","git_branch":"main","parent_id":null,"liveness":"idle","pinned":false,"health":[],"copies":[{{"path":"/home/ana/.claude/projects/-home-ana-work-shop/{id}.jsonl","path_bytes_base64":null,"project":"-home-ana-work-shop","chosen":true,"why":"it is filed under its launch directory","compared":null,"diverged_at_record":null,"messages":null,"active_at":"{at}","size_bytes":20480}}],"pointers":[],"resumable":true,"resume":{{"argv":["claude","--resume","{id}"],"dir":"{path}","dir_bytes_base64":null,"unset":[],"set":{{}},"then_type":null}}}}"#
            );
        }
        let _ = writeln!(
            text,
            r#"{{"kind":"summary","sessions":{rows},"hidden":0,"beyond_limit":0,"dangling_pointers":[],"problems":[]}}"#
        );
        std::fs::write(dir.join(format!("rows-h{host}")), text)?;
    }
    let program = dir.join("ssh");
    std::fs::write(&program, SSH.replace("@DIR@", &dir.display().to_string()))?;
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755))
}

/// Lists hosts and returns the time, and the peak memory in KiB.
fn run(dir: &Path, hosts: &str, rows: usize) -> io::Result<(Duration, u64)> {
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rejoin"))
        .args(["list", "--format", "ndjson", "--host", hosts])
        .env_clear()
        .env("HOME", dir)
        .env("PATH", format!("{}:/usr/bin:/bin", dir.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let status = Path::new("/proc").join(child.id().to_string()).join("status");
    let mut out = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let peak = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default()
    };
    let (mut most, mut lines, mut part) = (0, 0, vec![0; 1 << 20]);
    loop {
        let count = io::Read::read(&mut out, &mut part)?;
        most = most.max(peak());
        if count == 0 {
            break;
        }
        lines += part[..count].iter().filter(|byte| **byte == b'\n').count();
    }
    let status = child.wait()?;
    if !status.success() || lines != rows + 2 {
        return Err(io::Error::other(format!("{hosts}: {status}, {lines} lines")));
    }
    Ok((begin.elapsed(), most))
}
