_rejoin() {
    local IFS=$'\013\n' words=() begun= last= word at answer
    for ((at = 0; at <= COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if ((at > 0)) && [[ $word == [:=] ]]; then
            words[${#words[@]} - 1]+=$word
            begun=${words[${#words[@]} - 1]}
        elif [[ -n $word && $last == [:=] ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
            begun=
        fi
        last=$word
    done
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        words[${#words[@]} - 1]="$begun$2"
    fi
    compopt +o nospace 2> /dev/null
    COMPREPLY=()
    answer=$(COMPLETE="bash" "rejoin" -- "${words[@]}") || return
    read -r -d '' -a COMPREPLY <<< "$answer"
    COMPREPLY=("${COMPREPLY[@]#"$begun"}")
    if [[ ${#COMPREPLY[@]} -gt 1 && $COMP_TYPE == @(33|63|64) ]]; then
        COMPREPLY=("${COMPREPLY[@]/$'\t'/}")
    else
        COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
    fi
    if [[ "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace 2> /dev/null
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _rejoin rejoin
else
    complete -o nospace -o bashdefault -F _rejoin rejoin
fi
