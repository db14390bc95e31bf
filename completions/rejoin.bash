_clap_complete_rejoin() {
    local IFS=$'\013'
    local _CLAP_COMPLETE_INDEX=${COMP_CWORD}
    local _CLAP_COMPLETE_COMP_TYPE=${COMP_TYPE}
    if compopt +o nospace 2> /dev/null; then
        local _CLAP_COMPLETE_SPACE=false
    else
        local _CLAP_COMPLETE_SPACE=true
    fi
    local words=() begun= last= word at
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
    _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1))
    if [[ "${BASH_VERSINFO[0]}" -ge 4 ]]; then
        words[_CLAP_COMPLETE_INDEX]="$begun$2"
    fi
    COMPREPLY=( $( \
        _CLAP_IFS="$IFS" \
        _CLAP_COMPLETE_INDEX="$_CLAP_COMPLETE_INDEX" \
        _CLAP_COMPLETE_COMP_TYPE="$_CLAP_COMPLETE_COMP_TYPE" \
        _CLAP_COMPLETE_SPACE="$_CLAP_COMPLETE_SPACE" \
        COMPLETE="bash" \
        "rejoin" -- "${words[@]}" \
    ) )
    if [[ $? != 0 ]]; then
        unset COMPREPLY
        return
    fi
    COMPREPLY=("${COMPREPLY[@]#"$begun"}")
    if [[ $_CLAP_COMPLETE_SPACE == false ]] && [[ "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace
    fi
}
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _clap_complete_rejoin rejoin
else
    complete -o nospace -o bashdefault -F _clap_complete_rejoin rejoin
fi

