// SPDX-License-Identifier: Apache-2.0
// Which nodes get a line to node 0, and which do not: sockets of this machine's own address.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "comm/handshake.h"

enum { SIZE = 4 };

struct party {
    struct comm_host host;
    int lines[SIZE];
};

static void party_open(struct party *party)
{
    comm_host_open(&party->host, true, SIZE, party->lines);
    assert_int_not_equal(party->host.invitation.port, 0);
    assert_int_equal(party->host.invitation.count, 0); // no address beyond this machine
}

static void party_close(struct party *party)
{
    comm_host_close(&party->host);
    for (int i = 0; i < SIZE; i++) {
        if (party->lines[i] >= 0) {
            close(party->lines[i]);
        }
    }
}

static struct sockaddr_in own_address(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int stranger_connect(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = own_address(port);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

// Until the guest has a line or gives up; the host may be NULL.
static int visit(const struct wire_invitation *invitation, int rank, struct comm_host *host)
{
    struct comm_guest guest;
    comm_guest_open(&guest, invitation, rank, true);
    while (comm_guest_try(&guest)) {
        if (host) {
            comm_host_serve(host);
        }
    }
    comm_guest_close(&guest);
    return guest.line;
}

// What is said at one end is heard at the other, and the end of one is seen at the other.
static void check_line(int ours, int theirs)
{
    char word[] = "word", heard[sizeof(word)] = "";
    assert_int_equal(send(ours, word, sizeof(word), 0), sizeof(word));
    struct pollfd wait = {.fd = theirs, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 10000), 1);
    assert_int_equal(recv(theirs, heard, sizeof(heard), 0), sizeof(heard));
    assert_string_equal(heard, word);
    close(ours);
    assert_int_equal(poll(&wait, 1, 10000), 1);
    assert_int_equal(recv(theirs, heard, sizeof(heard), 0), 0);
}

static void test_guests_get_lines(void **state)
{
    (void)state;
    struct party party;
    party_open(&party);
    int first = visit(&party.host.invitation, 1, &party.host);
    int third = visit(&party.host.invitation, 3, &party.host);
    assert_true(first >= 0 && third >= 0);
    assert_true(party.lines[1] >= 0 && party.lines[3] >= 0);
    assert_int_equal(party.lines[0], -1);
    assert_int_equal(party.lines[2], -1); // never came
    check_line(first, party.lines[1]);
    check_line(third, party.lines[3]);
    party_close(&party);
}

static void test_strangers_are_turned_away(void **state)
{
    (void)state;
    struct party party;
    party_open(&party);
    int silent = stranger_connect(party.host.invitation.port);
    struct wire_invitation guessed = party.host.invitation;
    guessed.knock[WIRE_SECRET_BYTES - 1] ^= 1;
    assert_int_equal(visit(&guessed, 1, &party.host), -1);
    assert_int_equal(visit(&party.host.invitation, SIZE, &party.host), -1);
    assert_int_equal(visit(&party.host.invitation, 0, &party.host), -1);
    for (int i = 0; i < SIZE; i++) {
        assert_int_equal(party.lines[i], -1);
    }
    int line =
        visit(&party.host.invitation, 1, &party.host); // whom the silent one does not hold up
    assert_true(line >= 0);
    assert_int_equal(visit(&party.host.invitation, 1, &party.host), -1); // there is one already
    check_line(line, party.lines[1]);
    party_close(&party);
    char byte;
    assert_int_equal(recv(silent, &byte, 1, 0), 0);
    close(silent);
}

static void test_silent_strangers_do_not_fill_the_house(void **state)
{
    (void)state;
    struct party party;
    party_open(&party);
    int strangers[COMM_WAITING_MAX];
    for (int i = 0; i < COMM_WAITING_MAX; i++) {
        strangers[i] = stranger_connect(party.host.invitation.port);
        comm_host_serve(&party.host);
    }
    int line = visit(&party.host.invitation, 2, &party.host);
    assert_true(line >= 0);
    check_line(line, party.lines[2]);
    for (int i = 0; i < COMM_WAITING_MAX; i++) {
        close(strangers[i]);
    }
    party_close(&party);
}

// Somebody else listens where the guest looks for node 0, and repeats what it hears.
static void test_guest_takes_no_stranger_for_the_host(void **state)
{
    (void)state;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = own_address(0);
    socklen_t length = sizeof(address);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    struct wire_invitation invitation = {.port = ntohs(address.sin_port), .answer = {1}};
    struct comm_guest guest;
    comm_guest_open(&guest, &invitation, 1, true);
    int echo = accept(listener, NULL, NULL);
    char heard[WIRE_KNOCK_BYTES];
    struct pollfd wait = {.fd = echo, .events = POLLIN};
    while (poll(&wait, 1, 0) == 0) {
        assert_true(comm_guest_try(&guest));
    }
    assert_int_equal(recv(echo, heard, sizeof(heard), MSG_WAITALL), sizeof(heard));
    assert_int_equal(send(echo, heard, sizeof(heard), 0), sizeof(heard));
    while (comm_guest_try(&guest)) {
    }
    assert_int_equal(guest.line, -1);
    comm_guest_close(&guest);
    close(echo);
    close(listener);
    assert_int_equal(visit(&invitation, 1, NULL), -1); // nobody listens there any more
    invitation.port = 0;
    assert_int_equal(visit(&invitation, 1, NULL), -1);
}

// An address that does not answer does not keep a guest from the one that does.
static void test_one_address_of_several_is_enough(void **state)
{
    (void)state;
    struct party party;
    party_open(&party);
    struct wire_invitation invitation = party.host.invitation;
    invitation.addresses[0] = ntohl(inet_addr("127.0.0.9")); // where the host does not listen
    invitation.addresses[1] = ntohl(inet_addr("127.0.0.1"));
    invitation.count = 2;
    struct comm_guest guest;
    comm_guest_open(&guest, &invitation, 2, false);
    while (comm_guest_try(&guest)) {
        comm_host_serve(&party.host);
    }
    comm_guest_close(&guest);
    assert_true(guest.line >= 0);
    check_line(guest.line, party.lines[2]);
    party_close(&party);
}

static void test_addresses_for_others_are_not_of_this_machine_alone(void **state)
{
    (void)state;
    struct party party;
    comm_host_open(&party.host, false, SIZE, party.lines);
    assert_int_not_equal(party.host.invitation.port, 0);
    for (int i = 0; i < party.host.invitation.count; i++) {
        assert_int_not_equal(party.host.invitation.addresses[i] >> 24, 127);
    }
    party_close(&party);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guests_get_lines),
        cmocka_unit_test(test_strangers_are_turned_away),
        cmocka_unit_test(test_silent_strangers_do_not_fill_the_house),
        cmocka_unit_test(test_guest_takes_no_stranger_for_the_host),
        cmocka_unit_test(test_one_address_of_several_is_enough),
        cmocka_unit_test(test_addresses_for_others_are_not_of_this_machine_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
