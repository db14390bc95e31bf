set edit:completion:arg-completer[rejoin] = { |@words|
    use str
    env COMPLETE="elvish" rejoin -- $@words | each { |line|
        var value @help = (str:split "\t" $line)
        if (eq $help []) {
            put $value
        } else {
            edit:complex-candidate $value &display=$value"  "$help[0]
        }
    }
}
