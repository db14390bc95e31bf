-- name: Where is a session?
SELECT host, agent, id, title, launch_dir.path AS dir, active_at
FROM sessions WHERE id LIKE '00000007-0000-4000-8000-%' ORDER BY active_at DESC LIMIT 20;

-- name: What is deleted within a week and in no archive?
SELECT host, agent, count(*) AS sessions FROM expiring ANTI JOIN archived USING (host, agent, id)
GROUP BY ALL ORDER BY sessions DESC, host LIMIT 20;

-- name: Which sessions are on several hosts?
SELECT agent, id, count(DISTINCT host) AS hosts, min(host) AS one, max(host) AS another
FROM sessions GROUP BY agent, id HAVING hosts > 1 ORDER BY hosts DESC, id LIMIT 20;

-- name: Where does the space go?
SELECT agent, host, launch_dir.path AS dir, count(*) AS sessions, sum(size_bytes) AS bytes
FROM sessions GROUP BY ALL ORDER BY bytes DESC, host, dir LIMIT 20;

-- name: What was worked on last week?
SELECT launch_dir.path AS dir, count(*) AS sessions, count(DISTINCT host) AS hosts, max(active_at) AS last
FROM sessions WHERE active_at >= (SELECT max(active_at) FROM sessions) - INTERVAL 7 DAY
GROUP BY ALL ORDER BY sessions DESC, dir LIMIT 20;

-- name: How do the sizes grow?
SELECT day, agent, sum(sessions) AS sessions, sum(bytes) AS bytes FROM sizes GROUP BY ALL ORDER BY day DESC, agent LIMIT 20;
