complete --keep-order --exclusive --command rejoin --arguments "(COMPLETE=fish rejoin -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
